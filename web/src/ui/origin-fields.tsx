import { useContext, useState } from 'react'
import { SelectField } from './field.tsx'
import { MissingReadOfForm } from './missing-reads.tsx'
import { sortNaturally } from './natural.ts'
import { timeText } from './words.ts'

interface OriginFieldsProps {
  /** Such as `Box`. */
  label: string
  /** Names of the fields of the form. */
  fields: { origin: string; snapshot: string }
  project: string
  names: readonly string[]
  /** The one that is chosen, and how another is. */
  origin: string
  choose(name: string): void
  /** Snapshots of it to choose from, oldest first; null where it is taken as it is now. */
  snapshots: readonly { name: string; created_at: string }[] | null
}

/** Asks what something new is made from: a box or volume of a project, as it is now or as one of its snapshots has it. */
export function OriginFields({ label, fields, project, names, origin, choose, snapshots }: OriginFieldsProps) {
  // What could not be read is not what is not there.
  const isRead = useContext(MissingReadOfForm) === null
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        label={label}
        name={fields.origin}
        required
        value={origin}
        hint={isRead && names.length === 0 ? `${project} has no ${label.toLowerCase()} yet.` : undefined}
        onChange={(event) => choose(event.target.value)}
      >
        {sortNaturally(names, (name) => name).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </SelectField>
      {snapshots !== null && (
        <SelectField
          label="Snapshot"
          name={fields.snapshot}
          required
          hint={isRead && snapshots.length === 0 ? 'No snapshots yet.' : undefined}
        >
          {snapshots.toReversed().map(({ name, created_at }) => (
            <option key={name} value={name}>
              {name}, {timeText(created_at)}
            </option>
          ))}
        </SelectField>
      )}
    </div>
  )
}

/** Returns what was chosen of the names, or the first while that is none of them, and how another is chosen; `start` is chosen before. */
export function useChosenOf(names: readonly string[], start = ''): [chosen: string, choose: (name: string) => void] {
  const [chosen, setChosen] = useState(start)
  return [names.includes(chosen) ? chosen : (sortNaturally(names, (name) => name)[0] ?? ''), setChosen]
}
