import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import {
  basesQuery,
  boxesQuery,
  boxSnapshotsQuery,
  configQuery,
  sharedBasesQuery,
  volumesQuery,
} from '../../api/queries.ts'
import type { Box } from '../../api/records.ts'
import { CheckField, SelectField, TextAreaField, TextField } from '../../ui/field.tsx'
import { sortNaturally } from '../../ui/natural.ts'
import { useOwnValue } from '../../ui/own-value.ts'
import { TagsField } from '../../ui/tags-field.tsx'

/** The base of a new box. */
export function BaseField({ project }: { project: string }) {
  const { data: config } = useQuery(configQuery)
  const { data: shared = [] } = useQuery(sharedBasesQuery)
  const { data: own = [] } = useQuery(basesQuery)
  const base = useOwnValue(config?.defaults.base ?? '')
  const bases = [...new Set([...shared, ...own.filter((base) => base.project === project)].map(({ name }) => name))]
  return (
    <SelectField label="Base" name="base" {...base}>
      {bases.map((each) => (
        <option key={each}>{each}</option>
      ))}
    </SelectField>
  )
}

/** Asks for options that most new boxes do not need: a fork, volumes, variables, sleep and limits. */
export function MoreOptions({ project }: { project: string }) {
  return (
    <details>
      <summary className="cursor-pointer text-muted">More options</summary>
      <div className="mt-3 flex flex-col gap-4">
        <ForkField project={project} />
        <TextAreaField
          label="Environment"
          name="env"
          apiNames={['environment']}
          placeholder="NAME=VALUE"
          hint="One variable per line. Every command in the box gets it."
        />
        <MountsField project={project} />
        <SleepFields />
        <LimitFields />
        <TagsField name="tags" />
      </div>
    </details>
  )
}

/** Asks when the box sleeps and wakes. A stored time may be shorter than the form offers for a new box. */
export function SleepFields({ settings }: { settings?: Box['url_settings'] }) {
  const seconds = settings?.idle_stop_seconds ?? null
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField
        label="Sleep when idle, in minutes"
        name="idle_minutes"
        apiNames={['idle_stop_seconds']}
        type="number"
        min={settings === undefined ? '0.1' : '0'}
        step="any"
        placeholder="never"
        defaultValue={seconds === null ? '' : seconds / 60}
        hint="Stops the box after this time without requests, commands or terminals."
      />
      <CheckField
        label="Wake on request"
        name="wake"
        defaultChecked={settings?.wake ?? false}
        hint="A request to a URL of the box starts it."
        className="sm:mt-6"
      />
    </div>
  )
}

/** Asks for limits of network and disk. Empty: the default of the deployment. */
export function LimitFields({ config }: { config?: Box['config'] }) {
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      {LIMITS.map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          name={name}
          type="number"
          min="1"
          step="1"
          placeholder="default"
          defaultValue={config?.[name] ?? ''}
        />
      ))}
    </div>
  )
}

/** Asks for a box or snapshot to copy instead of a base. */
function ForkField({ project }: { project: string }) {
  const { data: boxes = [] } = useQuery(boxesQuery)
  const [chosen, choose] = useState('')
  const box = chosen.replace(/@.*/, '')
  const { data: snapshots = [] } = useQuery({
    ...boxSnapshotsQuery({ project, name: box }),
    enabled: project !== '' && box !== '',
  })
  const names = boxes.filter((each) => each.project === project).map(({ name }) => name)
  return (
    <SelectField
      label="Fork of"
      name="fork"
      value={chosen}
      hint={box === '' ? 'Copies the disk of a box instead of starting from the base.' : 'The base is not used.'}
      onChange={(event) => choose(event.target.value)}
    >
      <option value="">No box</option>
      {sortNaturally(names, (name) => name).flatMap((name) => [
        <option key={name} value={name}>
          {name}
        </option>,
        ...(name === box
          ? snapshots.map((snapshot) => (
              <option key={snapshot.id} value={`${name}@${snapshot.name}`}>
                {name}@{snapshot.name}
              </option>
            ))
          : []),
      ])}
    </SelectField>
  )
}

function MountsField({ project }: { project: string }) {
  const { data: volumes = [] } = useQuery(volumesQuery)
  const names = volumes.filter((volume) => volume.project === project).map(({ name }) => name)
  return (
    <TextAreaField
      label="Volumes"
      name="mounts"
      apiNames={['data_mounts']}
      placeholder="db /var/lib/db"
      hint={`One per line: a volume and its path, with ro at the end for read-only. ${
        names.length === 0 ? 'This project has no volume.' : `Volumes: ${names.slice(0, 8).join(', ')}.`
      }`}
    />
  )
}

const LIMITS = [
  ['network_mbps', 'Network in Mbit/s'],
  ['disk_mbps', 'Disk in MB/s'],
  ['disk_iops', 'Disk operations per s'],
] as const
