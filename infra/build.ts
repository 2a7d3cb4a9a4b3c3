import { statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { builtinsAsTheyAre, lightSchemas, withoutJsonSchema } from './bundle-plugins.ts'
import { ROOT } from './commands.ts'

/** Bundles the function to `rest.mjs` in `directory`, which is emptied, and gives its size in bytes. */
export async function buildFunction(directory: string): Promise<number> {
  await rm(directory, { recursive: true, force: true })
  const path = join(directory, 'rest.mjs')
  await bundle(join(ROOT, 'functions/rest.ts'), path)
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
    plugins: [builtinsAsTheyAre, withoutJsonSchema, lightSchemas],
  })
}

/** `npm run build`: bundles the function into `dist/` and tells its size. */
if (import.meta.main) {
  const bytes = await buildFunction(join(ROOT, 'dist'))
  process.stdout.write(`dist/rest.mjs: ${(bytes / 1000).toFixed(1)} KB\n`)
}
