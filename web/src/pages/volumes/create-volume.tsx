import type { CallInput } from '@boxyard/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { type JobInput, runJob } from '../../api/jobs.ts'
import { configQuery, volumesQuery } from '../../api/queries.ts'
import { storedBackupsQuery, volumeSnapshotsQuery } from '../../api/volume-queries.ts'
import { ProjectField, rememberProject, useFirstProject } from '../../shell/project-field.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { OriginFields, useChosenOf } from '../../ui/origin-fields.tsx'
import { useOwnValue } from '../../ui/own-value.ts'
import { NAME_PATTERN } from '../../ui/refusal-words.ts'
import { parseTags } from '../../ui/tags.ts'
import { TagsField } from '../../ui/tags-field.tsx'
import { tell, tellError } from '../../ui/toasts.tsx'
import { bytesText, timeText } from '../../ui/words.ts'

interface CreateVolumeProps {
  /** The form values of a failed attempt. Empty for a new one. */
  again: JobInput
  close(): void
}

/** Creates a data volume: empty, or from a volume, a snapshot or a backup. */
export function CreateVolume({ again, isOpen, close }: CreateVolumeProps & { isOpen: boolean }) {
  return (
    <Dialog
      title="Create volume"
      about="A disk that you can attach to running boxes. A copy takes milliseconds and shares unchanged blocks."
      isOpen={isOpen}
      close={close}
    >
      <CreateVolumeForm again={again} close={close} />
    </Dialog>
  )
}

type Source = 'empty' | 'volume' | 'snapshot' | 'backup'

function CreateVolumeForm({ again, close }: CreateVolumeProps) {
  const [chosen, setProject] = useState<string | null>(again['project'] ?? null)
  const first = useFirstProject()
  const project = chosen ?? first
  const [source, setSource] = useState<Source>(again['from_backup'] === undefined ? 'empty' : 'backup')
  const { data: config } = useQuery(configQuery)
  const create = useCreateVolume(project, source, close)
  return (
    <Form action="Create" isBusy={create.isPending} error={create.error} close={close} send={create.mutate}>
      <div className="grid gap-4 sm:grid-cols-2">
        <ProjectField value={project} change={setProject} />
        <TextField
          label="Name"
          name="name"
          defaultValue={again['name']}
          required
          autoFocus
          autoComplete="off"
          spellCheck={false}
          pattern={NAME_PATTERN}
          hint="a–z, 0–9 and -"
        />
        <SelectField label="Content" value={source} onChange={(event) => setSource(event.target.value as Source)}>
          <option value="empty">Empty</option>
          <option value="volume">Copy of a volume</option>
          <option value="snapshot">Copy of a snapshot</option>
          <option value="backup">Backup</option>
        </SelectField>
        <TextField
          label="Size in GiB"
          name="size_gb"
          defaultValue={again['size_gb']}
          type="number"
          min="0.01"
          step="any"
          placeholder={source === 'empty' ? String(config?.defaults.volume_size_gb ?? '') : 'same as its source'}
        />
      </div>
      {(source === 'volume' || source === 'snapshot') && <VolumeSource project={project} source={source} />}
      {source === 'backup' && <BackupSource project={project} chosen={again['from_backup']} />}
      <TagsField name="tags" tags={parseTags(again['tags'] ?? '')} />
    </Form>
  )
}

function useCreateVolume(project: string, source: Source, close: () => void) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: async (form: FormValues) => {
      const body = bodyOf(form, source)
      const { name } = body
      const begin = () =>
        api().callFully('createVolume', {
          path: { project },
          query: { wait_seconds: source === 'backup' ? 0 : 20 },
          body,
        })
      const words = { words: `Creating ${project}/${name} from a backup`, place: 'volumes' }
      if (source === 'backup') {
        // The dialog shows an immediate refusal. A backup may take minutes to load, and the dialog does not wait for it.
        const answer = await begin()
        const input = inputOf(form, project)
        void runJob({ ...words, input }, () => Promise.resolve(answer)).then(() => end(name), tellError)
      } else {
        await runJob(words, begin)
        await end(name)
      }
      rememberProject(project)
      close()
      if (source !== 'backup') await navigate({ to: '/volumes/$project/$name', params: { project, name } })
    },
  })
  async function end(name: string): Promise<void> {
    tell(`Created volume ${project}/${name}.`)
    await queries.invalidateQueries({ queryKey: volumesQuery.queryKey })
  }
}

/** Values that refill the form. */
function inputOf(form: FormValues, project: string): JobInput {
  const fields = ['name', 'size_gb', 'from_backup', 'tags']
  return { project, ...Object.fromEntries(fields.map((field) => [field, form.text(field)])) }
}

function bodyOf(form: FormValues, source: Source): CallInput<'createVolume'>['body'] {
  const size = Number(form.text('size_gb'))
  return {
    name: form.text('name'),
    ...(size > 0 ? { size_gb: size } : {}),
    ...(source === 'volume' || source === 'snapshot' ? { from: form.text('from') } : {}),
    ...(source === 'snapshot' ? { from_snapshot: form.text('from_snapshot') } : {}),
    ...(source === 'backup' ? { from_backup: form.text('from_backup') } : {}),
    tags: parseTags(form.text('tags')),
  }
}

function VolumeSource({ project, source }: { project: string; source: Source }) {
  const { data: volumes = [] } = useQuery(volumesQuery)
  const names = volumes.filter((volume) => volume.project === project).map(({ name }) => name)
  const [from, choose] = useChosenOf(names)
  const isOfSnapshot = source === 'snapshot'
  const ref = { project, name: from }
  const { data: snapshots = [] } = useQuery({ ...volumeSnapshotsQuery(ref), enabled: from !== '' && isOfSnapshot })
  const fields = { origin: 'from', snapshot: 'from_snapshot' }
  const given = { label: 'Volume', fields, project, names, origin: from, choose }
  return <OriginFields {...given} snapshots={isOfSnapshot ? snapshots : null} />
}

function BackupSource({ project, chosen }: { project: string; chosen: string | undefined }) {
  const { data: backups = [], isSuccess } = useQuery({ ...storedBackupsQuery(project), enabled: project !== '' })
  const backup = useOwnValue(chosen ?? '')
  const done = backups.filter(({ status }) => status === 'done').toReversed()
  return (
    <SelectField
      label="Backup"
      name="from_backup"
      required
      {...backup}
      hint={done.length === 0 && isSuccess ? `No backups of ${project} in the store.` : undefined}
    >
      {done.map(({ id, volume, created_at, size_bytes }) => (
        <option key={id} value={id}>
          {volume}, {timeText(created_at)} ({bytesText(size_bytes)})
        </option>
      ))}
    </SelectField>
  )
}
