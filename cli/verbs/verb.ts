import type { Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import type { OperationId } from '../../sdk/typescript/src/calls.ts'
import type { Connection } from '../context/connection.ts'
import type { OutputFormat } from '../output/printing.ts'

/** The context of a command. */
export interface VerbContext {
  connection: Connection
  boxyard: Boxyard
  environment: NodeJS.ProcessEnv
  format: OutputFormat
  /** The project of the command. @throws UsageError without one */
  project(): string
  /** Reports on stderr what the command waits for, if stderr is a terminal. */
  tell(text: string): void
}

export type VerbFlags = Record<string, string | boolean | string[] | undefined>

/** A command of the command line. `run` returns an exit code, or nothing for 0. */
export interface Verb {
  /** One or two words, such as `volume attach`. */
  words: string
  /** Arguments in commander's form, such as `<box> [path]`. */
  args: string
  /** The argument that fills a field of another name in the request, such as `<volume>` for `name`. `<box>` needs no entry. */
  fills?: Readonly<Record<string, string>>
  /** Flags in commander's form, with their meaning. `<value...>` can repeat, and `<value,...>` also accepts several values with commas. */
  flags: readonly (readonly [flag: string, meaning: string])[]
  /** A line. */
  summary: string
  /** Advice if an argument is missing. */
  whenMissing?: string
  /** Help text beyond the summary. */
  details?: string
  examples: readonly string[]
  /** Whether the hosts that it connects to name their projects. */
  hostsNameProject?: true
  /** The operations that it calls. */
  operations: readonly OperationId[]
  /** Advice on what to do next after an error, by error code. */
  ways?: Readonly<Record<string, string>>
  run(context: VerbContext, args: readonly string[], flags: VerbFlags): Promise<number | void>
}
