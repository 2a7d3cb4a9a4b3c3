import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { boxesQuery, volumesQuery } from '../api/queries.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { sortNaturally } from '../ui/natural.ts'
import { NAME_PATTERN } from '../ui/refusal-words.ts'
import { useRights } from './rights.ts'

/** The project that something is made in: one of the session's, or any. */
export function ProjectField({ value, change }: { value: string; change(project: string): void }) {
  const { projects, isOfAll } = useRights()
  const known = useKnownProjects()
  const id = useId()
  if (!isOfAll) {
    return (
      <SelectField label="Project" name="project" value={value} onChange={(event) => change(event.target.value)}>
        {projects.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </SelectField>
    )
  }
  return (
    <>
      <TextField
        label="Project"
        name="project"
        required
        pattern={NAME_PATTERN}
        value={value}
        list={`${id}-known`}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => change(event.target.value)}
      />
      <datalist id={`${id}-known`}>
        {known.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  )
}

/** Returns the projects that the session knows: its own, or for all those that have something. */
export function useKnownProjects(): string[] {
  const { projects, isOfAll, canRead } = useRights()
  const enabled = isOfAll && canRead
  const { data: boxes } = useQuery({ ...boxesQuery, enabled })
  const { data: volumes } = useQuery({ ...volumesQuery, enabled })
  if (!isOfAll) return [...projects]
  const found = new Set([...(boxes ?? []), ...(volumes ?? [])].map(({ project }) => project))
  return sortNaturally([...found], (each) => each)
}
