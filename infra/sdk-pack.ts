import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { ROOT } from './commands.ts'
import { packSdk } from './release/clients.ts'

/** `npm run sdk:pack [-- DIRECTORY]` packs the TypeScript SDK of this checkout for npm in `dist` or DIRECTORY, and prints the path. */
const [directory = join(ROOT, 'dist')] = process.argv.slice(2)
const scratch = mkdtempSync(join(tmpdir(), 'boxyard-sdk-'))
try {
  const packed = await packSdk(ROOT, scratch)
  const path = join(directory, basename(packed))
  mkdirSync(directory, { recursive: true })
  cpSync(packed, path)
  process.stdout.write(`${path}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
