import { join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from './commands.ts'
import { commandLineBundle } from './release/bundle.ts'

/** Bundles the command line into one file without packages beside it, and returns its path. */
export async function buildCli(outfile = join(ROOT, 'cli/dist/boxyard.mjs')): Promise<string> {
  await build(commandLineBundle(ROOT, outfile))
  return outfile
}
