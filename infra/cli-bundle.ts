import { join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from './commands.ts'

/** Bundles the command line into one file without packages beside it, and returns its path. */
export async function buildCli(outfile = join(ROOT, 'cli/dist/boxyard.mjs')): Promise<string> {
  await build({
    entryPoints: [join(ROOT, 'cli/main.ts')],
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
  })
  return outfile
}
