import { runAgent } from './modes.ts'

process.exitCode = await runAgent(process.argv.slice(2))
// A part that did not close in time must not keep the process alive.
process.exit()
