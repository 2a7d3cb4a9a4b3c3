#!/usr/bin/env node
import { runCommandLine } from './command-line.ts'

// A reader such as `head` may go first.
process.stdout.on('error', () => process.exit(0))
process.exitCode = await runCommandLine(process.argv.slice(2))
// A terminal or socket that is still open must not keep the program alive.
process.exit()
