import { createBoxyard } from '../../sdk/typescript/src/boxyard.ts'
import { UsageError } from '../output/failures.ts'
import { type ConnectionFlags, findConnection } from './connection.ts'
import { ALL_PROJECTS, namedProjects, shownNames } from './names.ts'

/** A project that commands will use. */
interface SelectedProject {
  project: string
  flags: ConnectionFlags
  environment: NodeJS.ProcessEnv
  /** The context that stores the project. Null if a `.boxyard` file does. */
  context: string | null
}

/**
 * Returns whether a project has nothing yet. Returns null if the service does not answer soon, the token may not ask, or commands in this
 * directory use a service other than the context's.
 * @throws UsageError if the token does not allow the project
 */
export async function isEmptyProject({
  project,
  flags,
  environment,
  context,
}: SelectedProject): Promise<boolean | null> {
  if (project === ALL_PROJECTS) return null
  const signal = AbortSignal.timeout(ANSWER_MS)
  let allowed: '*' | readonly string[] = '*'
  let isFound = false
  try {
    const connection = findConnection(flags, environment, process.cwd())
    if (context !== null && connection.context !== null && connection.context !== context) return null
    // A file of a checkout chose the service.
    if (connection.chosen?.hasContext === true) return null
    const boxyard = createBoxyard({ ...connection, attempts: 1 })
    allowed = (await boxyard.call('getMe', { signal })).projects
    if (isAllowed(project, allowed))
      for await (const each of boxyard.list('listProjects', { query: { prefix: project }, signal })) {
        isFound = each.project === project
        // Names are sorted, so the others are longer.
        break
      }
  } catch {
    return null
  }
  if (isAllowed(project, allowed)) return !isFound
  const names = shownNames(namedProjects(allowed))
  throw new UsageError(
    `<project>: your token does not allow "${project}".${names === '' ? '' : ` It allows ${names}.`}`,
  )
}

function isAllowed(project: string, allowed: '*' | readonly string[]): boolean {
  return allowed === '*' || allowed.includes(project)
}

const ANSWER_MS = 5_000
