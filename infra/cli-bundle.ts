import { join } from 'node:path'
import type * as Esbuild from 'esbuild'
import { ROOT } from './commands.ts'

/** Bundles the command line into one file without packages beside it, and returns its path. */
export async function buildCli(outfile = join(ROOT, 'cli/dist/boxyard.mjs')): Promise<string> {
  const { build } = await import('esbuild')
  await build(cliBundle(ROOT, outfile))
  return outfile
}

/** Returns how the command line of the files below `tree` is bundled into `outfile`. */
export function cliBundle(tree: string, outfile: string): Esbuild.BuildOptions {
  return {
    absWorkingDir: tree,
    entryPoints: [join(tree, 'cli/main.ts')],
    outfile,
    bundle: true,
    minify: true,
    // A file of ssh2 asks for its directory, and finds nothing there that it needs.
    define: { __dirname: '"/"' },
    // Ssh2 asks objects for the name of their class.
    keepNames: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    // Native parts of ssh2, which tries them and does without: a bundle is one file for every machine.
    external: ['cpu-features', '*.node'],
    legalComments: 'none',
    logLevel: 'warning',
    // What CommonJS packages load Node.js's own modules with.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`,
    },
  }
}
