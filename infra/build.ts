import { statSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { withoutUnusedMembers } from './bundle-members.ts'
import { builtinsAsTheyAre, lighten, lightSchemas, withoutJsonSchema } from './bundle-plugins.ts'
import { ROOT } from './commands.ts'

/**
 * Bundles the function to `rest.mjs` in `directory` and gives its size in bytes. Whoever runs an earlier one meanwhile finds
 * that or this, whole.
 */
export async function buildFunction(directory: string): Promise<number> {
  const path = join(directory, 'rest.mjs')
  const made = join(directory, `.rest-${process.pid}.mjs`)
  try {
    await bundle(join(ROOT, 'functions/rest.ts'), made)
    await rename(made, path)
  } finally {
    await rm(made, { force: true })
  }
  return statSync(path).size
}

/** Bundles a module with all it imports, as the function is. */
export async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [builtinsAsTheyAre, withoutJsonSchema, lightSchemas, withoutUnusedMembers(lighten)],
  })
}

/** `npm run build`: bundles the function into `dist/` and tells its size. */
if (import.meta.main) {
  const bytes = await buildFunction(join(ROOT, 'dist'))
  process.stdout.write(`dist/rest.mjs: ${(bytes / 1000).toFixed(1)} KB\n`)
}
