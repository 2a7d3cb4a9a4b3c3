import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cliBundles } from '../cli-bundle.ts'
import { loadEsbuild } from './client-tree.ts'

/**
 * Bundles agent and front of the program in `lib`, whose packages are installed, each with all modules that it loads at its start. Reading
 * hundreds of files takes a cold disk longer than the rest of the start. Threads, the shim and packages that load on demand stay files.
 */
export function bundlePrograms(lib: string): void {
  bundleServices(lib, { agent: 'agent/bundle', front: 'functions/bundle' })
  const { buildSync } = loadEsbuild()
  for (const bundle of cliBundles(lib, join(lib, 'cli'))) buildSync(bundle)
  keepBundles(lib)
}

/** Bundles agent and front of the program in `lib` into two directories two levels below it, where they find its other files. */
export function bundleServices(lib: string, { agent, front }: { agent: string; front: string }): void {
  const { buildSync } = loadEsbuild()
  const bundle = (entry: string, outdir: string, external: string[]): void => {
    rmSync(join(lib, outdir), { recursive: true, force: true })
    buildSync({
      absWorkingDir: lib,
      entryPoints: [entry],
      outdir,
      external,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      platform: 'node',
      target: 'node24',
      format: 'esm',
      legalComments: 'none',
      logLevel: 'warning',
      banner: { js: REQUIRE },
    })
  }
  bundle('agent/main.ts', agent, ['koffi', 'undici', '@aws-sdk/*', '@kubernetes/*'])
  bundle('functions/standalone.ts', front, [])
}

// Nothing else reads the sources of the command line.
function keepBundles(lib: string): void {
  rmSync(join(lib, 'sdk'), { recursive: true })
  for (const name of readdirSync(join(lib, 'cli')))
    if (!name.endsWith('.cjs')) rmSync(join(lib, 'cli', name), { recursive: true })
}

/** The `require` by which CommonJS packages load Node.js's own modules. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`
