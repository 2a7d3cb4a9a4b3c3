import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type * as Esbuild from 'esbuild'
import { ROOT } from '../commands.ts'
import type { ReleaseSource } from './tree.ts'

/**
 * Makes the command line of a commit one executable file in `directory`, by Node.js's own way (single executable applications), of
 * `node`, a program of the release's architecture. Returns its path.
 */
export function packExecutable(source: ReleaseSource, node: string, directory: string): string {
  const stage = join(directory, 'executable')
  mkdirSync(stage)
  const files = execFileSync('git', ['archive', source.commit, ...CLI_PARTS], { cwd: ROOT, maxBuffer: CLI_BYTES })
  execFileSync('tar', ['-x', '-C', stage], { input: files })
  // A commit is released from a clone without packages: those of the checkout whose Node.js runs this are taken.
  const packages = createRequire(process.execPath)
  symlinkSync(dirname(dirname(packages.resolve('esbuild/package.json'))), join(stage, 'node_modules'))
  const { buildSync } = packages('esbuild') as typeof Esbuild
  buildSync({
    absWorkingDir: stage,
    entryPoints: ['cli/main.ts'],
    outfile: 'boxyard.cjs',
    bundle: true,
    minify: true,
    // As in infra/cli-bundle.ts: packages ask for names of classes, and do without their native parts.
    keepNames: true,
    external: ['cpu-features', '*.node'],
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    legalComments: 'none',
    logLevel: 'warning',
  })
  // Paths as they are written here become part of the program.
  const settings = { main: 'boxyard.cjs', output: 'boxyard.blob', disableExperimentalSEAWarning: true }
  writeFileSync(join(stage, 'sea.json'), JSON.stringify(settings))
  const run = (...args: string[]): void =>
    void execFileSync(process.execPath, args, { cwd: stage, stdio: ['ignore', 'ignore', 'pipe'] })
  run('--experimental-sea-config', 'sea.json')
  const path = join(directory, `boxyard-cli-${source.version}-linux-${source.architecture}`)
  copyFileSync(node, path)
  chmodSync(path, 0o755)
  const postject = join(dirname(packages.resolve('postject')), 'cli.js')
  run('--disable-warning=ExperimentalWarning', postject, path, 'NODE_SEA_BLOB', 'boxyard.blob', '--sentinel-fuse', FUSE)
  return path
}

const CLI_PARTS = ['cli', 'sdk/typescript', 'tsconfig.json']
const CLI_BYTES = 64 * 1024 ** 2
/** What Node.js looks for in itself to know that it carries a program: a part of its documentation. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
