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
 * Runs the process's command line, and exits with its code: the command's own, 2 for usage, 4 for authentication, 74 for lost output,
 * otherwise 1.
 */
export function runCommandLine(args: readonly string[], load: () => Promise<Program>): void {
  // A terminal or socket that is still open must not keep the program alive. Uses no `await`, which a CommonJS file cannot have at its top
  // level.
  void new Outputs().exitAfter(exitCodeOf(args, load))
}

async function exitCodeOf(args: readonly string[], load: () => Promise<Program>): Promise<number> {
  const [word = '--help'] = args
  // Loads nothing, which makes the start as fast as possible.
  if (word === '--version' || word === '-V') {
    printLine(`boxyard ${manifest.version}`)
    return 0
  }
  const script = HOST_WORDS.get(word)
  if (script !== undefined) {
    const where = `Run it on a host with the Boxyard package, or in a checkout: npm run ${script}.`
    reportLine(`boxyard ${word} manages a host, so only the host's own program has it. ${where}`)
    return 2
  }
  const { runProgram, verbOf, keepCompiled } = await load()
  const code = await runProgram(args, manifest.version)
  // Other commands have not called all functions that it needs.
  if (code === 0) keepCompiled?.(verbOf(args))
  return code
}
