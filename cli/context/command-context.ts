import { ApiError, ConnectionError } from '../../sdk/typescript/src/api-error.ts'
import { type Boxyard, createBoxyard } from '../../sdk/typescript/src/boxyard.ts'
import { OPERATIONS } from '../../sdk/typescript/src/generated/operations.ts'
import { UsageError } from '../output/failures.ts'
import type { OutputFormat } from '../output/printing.ts'
import { isSeen, reportLine } from '../output/terminal.ts'
import type { Verb, VerbContext } from '../verbs/verb.ts'
import { type Connection, type ConnectionFlags, findConnection } from './connection.ts'
import { namedProjects, shownNames } from './names.ts'

/** The flags that every command has. */
export type CommandFlags = ConnectionFlags & { output: OutputFormat }

/** The context of a command, for the program that runs it. */
export interface CommandContext extends VerbContext {
  /**
   * Asks the service which projects the token allows, if the command needs a project and none is selected. `project` then returns the
   * only one, or names them in its error.
   */
  findProject(): Promise<void>
}

/**
 * Creates the context of a command. Looks up the connection only when the command first uses it, so that `login`, `use` and `context` also
 * work without one. Reports on stderr what a `.boxyard` file chose, because the file may have come with a checkout. It always reports
 * another context, and reports the project if the command can change something.
 */
export function createCommandContext(flags: CommandFlags, verb: Verb): CommandContext {
  let found: Connection | null = null
  let client: Boxyard | null = null
  let isProjectReported = false
  let allowed: readonly string[] = []
  const connection = (): Connection => {
    if (found !== null) return found
    found = findConnection(flags, process.env, process.cwd())
    for (const path of found.ignored) remark(`ignored ${path}: another user owns it.`)
    if (found.chosen?.hasContext === true)
      remark(`using the context "${found.context}" (${found.url}) from ${found.chosen.path}.`)
    return found
  }
  const boxyard = (): Boxyard => {
    const { url, token } = connection()
    client ??= createBoxyard({ url, token })
    return client
  }
  return {
    get connection() {
      return connection()
    },
    get boxyard() {
      return boxyard()
    },
    findProject: async () => {
      if (!needsProject(verb)) return
      const { url, token, project, chosen } = connection()
      // A service that a file of a checkout chose gets the token only from the command.
      if (project !== null || token() === null || chosen?.hasContext === true) return
      const asked = createBoxyard({ url, token, attempts: 1 })
      const me = await asked.call('getMe', { signal: AbortSignal.timeout(ANSWER_MS) }).catch(unlessDecisive)
      allowed = namedProjects(me?.projects ?? [])
    },
    environment: process.env,
    format: flags.output,
    project: () => {
      const { project, chosen } = connection()
      if (project === null) return onlyOf(allowed)
      if (chosen?.hasProject === true && mayChange(verb) && !isProjectReported) {
        isProjectReported = true
        remark(`using the project "${project}" from ${chosen.path}.`)
      }
      return project
    },
    tell: (text) => {
      if (isSeen()) reportLine(text)
    },
  }
}

/** Returns whether a command calls an operation on a project, also for `api`, whose path may have one. */
function needsProject({ words, operations, hostsNameProject }: Verb): boolean {
  if (hostsNameProject === true) return false
  return words === 'api' || operations.some((id) => OPERATIONS[id].path.includes('{project}'))
}

/** Returns null for an error after which the command reports that no project is selected. @throws the others */
function unlessDecisive(error: unknown): null {
  if (error instanceof ConnectionError || (error instanceof ApiError && error.status === 401)) throw error
  return null
}

/** Returns the only project that the token allows. @throws UsageError */
function onlyOf(allowed: readonly string[]): string {
  const [only, second] = allowed
  if (only !== undefined && second === undefined) return only
  const known = only === undefined ? '' : ` Your token allows ${shownNames(allowed)}.`
  throw new UsageError(`No project is selected.${known} Run boxyard use PROJECT, or add --project PROJECT.`)
}

/** Returns whether a command can change something. A command without a fixed operation, such as `api`, can. */
function mayChange({ operations }: Verb): boolean {
  return operations.length === 0 || operations.some((id) => OPERATIONS[id].method !== 'GET')
}

function remark(text: string): void {
  reportLine(`boxyard: ${text}`)
}

/** Longest wait for the projects of a token. */
const ANSWER_MS = 5_000
