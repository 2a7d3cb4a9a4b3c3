import { runCommandLine } from './command-line.ts'

// The entry of the single executable, which carries all in one file, compiled.
runCommandLine(process.argv.slice(2), () => import('./program.ts'))
