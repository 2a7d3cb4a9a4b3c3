import childProcess from 'node:child_process'
import https from 'node:https'
import { join } from 'node:path'
import tls from 'node:tls'
import zlib from 'node:zlib'
import type * as Esbuild from 'esbuild'
import { ROOT } from './commands.ts'

/** The main file of the command line's bundles. */
export const CLI_ENTRY = 'boxyard.cjs'

/** Bundles the command line into a directory, without packages beside it, and returns the path of its main file. */
export async function buildCli(directory = join(ROOT, 'cli/dist')): Promise<string> {
  const { build } = await import('esbuild')
  await Promise.all(cliBundles(ROOT, directory).map((bundle) => build(bundle)))
  return join(directory, CLI_ENTRY)
}

/**
 * Returns how to bundle the command line from the files below `tree` into `directory`. The bundles are the start file, the part that it
 * loads for a command, and large packages that few commands load. Those take as long to read as all the rest.
 */
export function cliBundles(tree: string, directory: string): Esbuild.BuildOptions[] {
  const external = [...NATIVE, ...Object.values(SEPARATE)]
  const settings = settingsOf(tree)
  const alias = { ...settings.alias, ...SEPARATE }
  const ours = [
    ['cli/main.ts', CLI_ENTRY],
    ['cli/program.ts', 'program.cjs'],
  ].map(([entry = '', name = '']) => ({
    ...{ ...settings, alias, external, entryPoints: [join(tree, entry)], outfile: join(directory, name) },
    // Only `require` finds its files.
    supported: { 'dynamic-import': false },
  }))
  const packages = Object.entries(SEPARATE).map(([name, file]) => ({
    ...{ ...settings, ...OF_SSH2, external: NATIVE, outfile: join(directory, file) },
    ...(name === 'ssh2' ? { stdin: { contents: SSH2_SERVER, resolveDir: tree } } : { entryPoints: [name] }),
  }))
  return [...ours, ...packages]
}

/** Returns how to bundle the command line from the files below `tree` into one file, for a single executable. */
export function cliExecutableBundle(tree: string, outfile: string): Esbuild.BuildOptions {
  const entryPoints = [join(tree, 'cli/executable.ts')]
  return { ...settingsOf(tree), ...OF_SSH2, external: NATIVE, entryPoints, outfile }
}

// Uses CommonJS, which loads the imports of a module together with that module. ES modules in one file load all imports at the start.
function settingsOf(tree: string): Esbuild.BuildOptions {
  return {
    absWorkingDir: tree,
    alias: LATE,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    legalComments: 'none',
    logLevel: 'warning',
  }
}

/**
 * Modules of Node.js that load when a member is used. Packages import them at their beginning, but most commands never use them. Loading
 * TLS takes longer than a request without it. Inside, they have another name so that the alias does not apply.
 */
const LATE = {
  tls: lateModule('node:tls', tls),
  https: lateModule('node:https', https),
  zlib: lateModule('node:zlib', zlib),
  'node:child_process': lateModule('child_process', childProcess),
}

function lateModule(name: string, module: object): string {
  return `data:text/javascript,for (const name of ${JSON.stringify(Object.keys(module))})
    Object.defineProperty(exports, name, { enumerable: true, get: () => require('${name}')[name] })`
}

/** Packages in separate files. */
const SEPARATE = { ssh2: './ssh2.cjs', yaml: './yaml.cjs', '@clack/prompts': './prompts.cjs' }
/** Native parts of ssh2, which tries them and works without. A bundle is the same for every machine. */
const NATIVE = ['cpu-features', '*.node']
/**
 * ssh2 asks objects for the name of their class, and in one file for its directory, where it finds nothing that it needs. Keeping the names
 * costs no time. Restoring minified ones takes as long as the rest of its loading.
 */
const OF_SSH2: Esbuild.BuildOptions = {
  ...{ minify: false, minifySyntax: true, minifyWhitespace: true },
  define: { __dirname: '"/"' },
}
/** The parts of ssh2 that a connection loads: no client, and no keygen. */
const SSH2_SERVER = `
const { parseKey } = require('ssh2/lib/protocol/keyParser.js')
const { OPEN_MODE, STATUS_CODE } = require('ssh2/lib/protocol/SFTP.js')
exports.Server = require('ssh2/lib/server.js')
exports.utils = { parseKey, sftp: { OPEN_MODE, STATUS_CODE } }`
