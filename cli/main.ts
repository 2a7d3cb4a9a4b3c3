#!/usr/bin/env node
import { runCommandLine } from './command-line.ts'

// A reader such as `head` may go first.
process.stdout.on('error', () => process.exit(0))
// A terminal or socket that is still open must not keep the program alive. No `await`, which one file of CommonJS cannot have.
void runCommandLine(process.argv.slice(2)).then((code) => process.exit(code))
