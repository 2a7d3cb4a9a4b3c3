#!/usr/bin/env node
import { join } from 'node:path'
import { type Program, runCommandLine } from './command-line.ts'
import { loadCompiled } from './compiled-code.ts'

// Entry point of the package. It is a small file beside the program, because Node.js caches nothing for the first file.
runCommandLine(process.argv.slice(2), async () => {
  const { exports, keepCompiled } = loadCompiled(join(__dirname, 'program.cjs'), process.env)
  return { ...(exports as Program), keepCompiled }
})
