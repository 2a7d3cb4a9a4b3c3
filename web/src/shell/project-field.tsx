import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { boxesQuery, volumesQuery } from '../api/queries.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { sortNaturally } from '../ui/natural.ts'
import { NAME_PATTERN } from '../ui/refusal-words.ts'
import { useSearchState } from '../ui/search-state.ts'
import { useRights } from './rights.ts'

/** The project for something new: one of the session's projects, or any. */
export function ProjectField({ value, change }: { value: string; change(project: string): void }) {
  const { projects, isOfAll } = useRights()
  const { known, isKnown } = useProjects()
  const id = useId()
  if (!isOfAll) {
    return (
      <SelectField
        label="Project"
        name="project"
        required
        value={value}
        onChange={(event) => change(event.target.value)}
      >
        {value === '' && <option value="">Select a project</option>}
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
        // Until the projects have loaded, the dialog's focus does not start here.
        required={isKnown}
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

/** Returns the projects that the session knows: its own, or for a session of all projects, every project with resources. */
export function useKnownProjects(): string[] {
  return useProjects().known
}

function useProjects(): { known: string[]; isKnown: boolean } {
  const { projects, isOfAll, canRead } = useRights()
  const enabled = isOfAll && canRead
  const boxes = useQuery({ ...boxesQuery, enabled })
  const volumes = useQuery({ ...volumesQuery, enabled })
  if (!isOfAll) return { known: [...projects], isKnown: true }
  const all = [...(boxes.data ?? []), ...(volumes.data ?? [])]
  const known = sortNaturally([...new Set(all.map(({ project }) => project))], (each) => each)
  return { known, isKnown: !enabled || (!boxes.isPending && !volumes.isPending) }
}

/**
 * Returns the default project for something new. This is the project that the page shows, else the last one in which something was created,
 * else the only one. Empty if the user must choose.
 */
export function useFirstProject(): string {
  const { get } = useSearchState()
  const { isOfAll } = useRights()
  const { known, isKnown } = useProjects()
  const may = (project: string): boolean => project !== '' && (isOfAll || known.includes(project))
  const [only = '', ...others] = known
  return [get('project'), lastProject()].find(may) ?? (isKnown && others.length === 0 ? only : '')
}

/** Remembers the project in which something was created, in this browser and while the tab is open. */
export function rememberProject(project: string): void {
  sessionStorage.setItem(KEY, project)
}

function lastProject(): string {
  return sessionStorage.getItem(KEY) ?? ''
}

const KEY = 'boxyard.project'
