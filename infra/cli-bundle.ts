import { join } from 'node:path'
import { build } from 'esbuild'
import { withoutNativeParts } from './bundle-plugins.ts'
import { ROOT } from './commands.ts'

/** Bundles the command line into one file without packages beside it, and returns its path. */
export async function buildCli(outfile = join(ROOT, 'cli/dist/boxyard.mjs')): Promise<string> {
  await build({
    entryPoints: [join(ROOT, 'cli/main.ts')],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    plugins: [withoutNativeParts],
    legalComments: 'none',
    logLevel: 'warning',
    // What CommonJS packages load Node.js's own modules with.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`,
    },
  })
  return outfile
}
