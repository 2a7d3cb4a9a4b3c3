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
  /** The chosen one, and a function to choose another. */
  origin: string
  choose(name: string): void
  /** Its snapshots to choose from, oldest first. Null if only its current state is used. */
  snapshots: readonly { name: string; created_at: string }[] | null
}

/** Asks for the source of something new: a box or volume of a project, either now or in one of its snapshots. */
export function OriginFields({ label, fields, project, names, origin, choose, snapshots }: OriginFieldsProps) {
  // A failed read does not mean that nothing is there.
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

/** Returns the chosen name, or the first one while no name is chosen, and a function to choose another. `start` is chosen initially. */
export function useChosenOf(names: readonly string[], start = ''): [chosen: string, choose: (name: string) => void] {
  const [chosen, setChosen] = useState(start)
  return [names.includes(chosen) ? chosen : (sortNaturally(names, (name) => name)[0] ?? ''), setChosen]
}
