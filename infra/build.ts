import { statSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { withoutUnusedMembers } from './bundle-members.ts'
import { builtinsAsTheyAre, lighten, lightSchemas, withoutJsonSchema } from './bundle-plugins.ts'
import { ROOT } from './commands.ts'
import { buildConsole } from './web/build.ts'

/**
 * Bundles the function to `rest.mjs` in `directory`, with the modules that it imports on demand beside it. Returns the size of `rest.mjs`
 * in bytes. Replaces each file by rename, so a process of an earlier build reads either build whole.
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

/** Bundles one module with all its imports, by the settings of the function. */
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

/** Modules that no start of a function loads: separate bundles, each with its own copy of its imports. */
const LATE = ['shared/problem-types.ts', 'shared/auth/session.ts']

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

/** `npm run build`: bundles the function into `dist/`, prints its size, and builds the web console into `dist/console`. */
if (import.meta.main) {
  const bytes = await buildFunction(join(ROOT, 'dist'))
  process.stdout.write(`dist/rest.mjs: ${(bytes / 1000).toFixed(1)} KB\n`)
  buildConsole(join(ROOT, 'dist/console'))
  process.stdout.write('dist/console: the web console\n')
}
