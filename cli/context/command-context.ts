import { type Boxyard, createBoxyard } from '../../sdk/typescript/src/boxyard.ts'
import { OPERATIONS } from '../../sdk/typescript/src/generated/operations.ts'
import { UsageError } from '../output/failures.ts'
import type { OutputFormat } from '../output/printing.ts'
import { isSeen, reportLine } from '../output/terminal.ts'
import type { Verb, VerbContext } from '../verbs/verb.ts'
import { type Connection, type ConnectionFlags, findConnection } from './connection.ts'

/** The flags that every command has. */
export type CommandFlags = ConnectionFlags & { output: OutputFormat }

/**
 * Creates the context of a command. Looks up the connection only when the command first uses it, so that `login`, `use` and `context` also
 * work without one. Reports on stderr what a `.boxyard` file chose, because the file may have come with a checkout. It always reports
 * another context, and reports the project if the command can change something.
 */
export function createCommandContext(flags: CommandFlags, verb: Verb): VerbContext {
  let found: Connection | null = null
  let client: Boxyard | null = null
  let isProjectReported = false
  const connection = (): Connection => {
    if (found !== null) return found
    found = findConnection(flags, process.env, process.cwd())
    for (const path of found.ignored) remark(`ignored ${path}: another user owns it.`)
    if (found.chosen?.hasContext === true)
      remark(`using the context "${found.context}" (${found.url}) from ${found.chosen.path}.`)
    return found
  }
  return {
    get connection() {
      return connection()
    },
    get boxyard() {
      const { url, token } = connection()
      client ??= createBoxyard({ url, token })
      return client
    },
    environment: process.env,
    format: flags.output,
    project: () => {
      const { project, chosen } = connection()
      if (project === null)
        throw new UsageError('No project is selected. Run boxyard use PROJECT, or add --project PROJECT.')
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

/** Returns whether a command can change something. A command without a fixed operation, such as `api`, can. */
function mayChange({ operations }: Verb): boolean {
  return operations.length === 0 || operations.some((id) => OPERATIONS[id].method !== 'GET')
}

function remark(text: string): void {
  reportLine(`boxyard: ${text}`)
}
