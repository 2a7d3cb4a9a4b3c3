#!/usr/bin/env node
import { createRequire } from 'node:module'
import { type Program, runCommandLine } from './command-line.ts'
import { keepCompiledCode } from './compiled-code.ts'

// The entry of the package: a small file beside the program, since for the first file nothing is kept.
runCommandLine(process.argv.slice(2), async () => {
  keepCompiledCode(process.env)
  return createRequire(__filename)('./program.cjs') as Program
})
