import { HOST_WORDS } from './host-words.ts'
import { Outputs } from './output/outputs.ts'
import { printLine, reportLine } from './output/terminal.ts'
import manifest from './package.json' with { type: 'json' }
import type { runProgram, verbOf } from './program.ts'

/** Everything that printing the version does not need. */
export interface Program {
  runProgram: typeof runProgram
  verbOf: typeof verbOf
  /** Called after a command has done its work. */
  keepCompiled?(verb: string): void
}

/**
 * Runs the process's command line, and exits with its code: the command's own, 2 for usage, 4 for authentication, 74 where output is
 * lost, 1 else.
 */
export function runCommandLine(args: readonly string[], load: () => Promise<Program>): void {
  // A terminal or socket that is still open must not keep the program alive. No `await`, which a file of CommonJS cannot have.
  void new Outputs().exitAfter(exitCodeOf(args, load))
}

async function exitCodeOf(args: readonly string[], load: () => Promise<Program>): Promise<number> {
  const [word = '--help'] = args
  // Loads nothing: this is how fast a start can be.
  if (word === '--version' || word === '-V') {
    printLine(`boxyard ${manifest.version}`)
    return 0
  }
  if (HOST_WORDS.has(word)) {
    const where = 'Run it on a host with the Boxyard package, or with npm run in a checkout.'
    reportLine(`boxyard ${word} manages a host, so only the host's own program has it. ${where}`)
    return 2
  }
  const { runProgram, verbOf, keepCompiled } = await load()
  const code = await runProgram(args, manifest.version)
  // Others have not called all that it needs.
  if (code === 0) keepCompiled?.(verbOf(args))
  return code
}
