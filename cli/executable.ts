import { runCommandLine } from './command-line.ts'

// Entry point of the single executable, which contains all code in one compiled file.
runCommandLine(process.argv.slice(2), () => import('./program.ts'))
