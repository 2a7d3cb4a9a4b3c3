import { statSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { withoutUnusedMembers } from './bundle-members.ts'
import { builtinsAsTheyAre, lighten, lightSchemas, withoutJsonSchema } from './bundle-plugins.ts'
import { ROOT } from './commands.ts'

/**
 * Bundles the function to `rest.mjs` in `directory`, with what it imports when it is first asked for beside it, and gives the size
 * of `rest.mjs` in bytes. Whoever runs an earlier one meanwhile finds that or this, whole.
 */
export async function buildFunction(directory: string): Promise<number> {
  await Promise.all(LATE.map((path) => bundleWhole(join(ROOT, path), join(directory, lateName(path)))))
  const path = join(directory, 'rest.mjs')
  await bundleWhole(join(ROOT, 'functions/rest.ts'), path)
  return statSync(path).size
}

async function bundleWhole(entry: string, path: string): Promise<void> {
  const made = join(dirname(path), `.${process.pid}-${basename(path)}`)
  try {
    await bundle(entry, made)
    await rename(made, path)
  } finally {
    await rm(made, { force: true })
  }
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
    plugins: [lateImports, builtinsAsTheyAre, withoutJsonSchema, lightSchemas, withoutUnusedMembers(lighten)],
  })
}

/** Modules that no start of a function loads: bundles of their own, with their own copies of what they import. */
const LATE = ['shared/problem-types.ts']

const lateImports: Plugin = {
  name: 'late-imports',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir, kind }) => {
      if (kind !== 'dynamic-import' || !LATE.includes(relative(ROOT, join(resolveDir, path)))) return undefined
      return { path: `./${lateName(path)}`, external: true }
    })
  },
}

function lateName(path: string): string {
  return `${basename(path, '.ts')}.mjs`
}

/** `npm run build`: bundles the function into `dist/` and tells its size. */
if (import.meta.main) {
  const bytes = await buildFunction(join(ROOT, 'dist'))
  process.stdout.write(`dist/rest.mjs: ${(bytes / 1000).toFixed(1)} KB\n`)
}
