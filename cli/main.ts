#!/usr/bin/env node
import { join } from 'node:path'
import { type Program, runCommandLine } from './command-line.ts'
import { loadCompiled } from './compiled-code.ts'

// The entry of the package: a small file beside the program, since for the first file nothing is kept.
runCommandLine(process.argv.slice(2), async () => {
  const { exports, keepCompiled } = loadCompiled(join(__dirname, 'program.cjs'), process.env)
  return { ...(exports as Program), keepCompiled }
})
