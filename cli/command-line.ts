import { HOST_WORDS } from './host-words.ts'
import manifest from './package.json' with { type: 'json' }

/** Runs one command line and returns its exit code: the command's own, 2 for usage, 4 for authentication, 1 else. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  const [word = '--help'] = args
  // Loads nothing: this is how fast a start can be.
  if (word === '--version' || word === '-V') {
    process.stdout.write(`boxyard ${manifest.version}\n`)
    return 0
  }
  if (HOST_WORDS.has(word)) {
    const where = 'run it on the host of the service, where its package is installed (in a checkout: npm run)'
    process.stderr.write(`boxyard ${word} is a command of the host's own program: ${where}.\n`)
    return 2
  }
  const { runProgram } = await import('./program.ts')
  return runProgram(args, manifest.version)
}
