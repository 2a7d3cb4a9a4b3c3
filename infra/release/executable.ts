import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cliExecutableBundle } from '../cli-bundle.ts'
import { loadEsbuild, packagesOfBuild } from './client-tree.ts'
import { cpuOf, type ReleaseSource } from './tree.ts'

/**
 * Makes the command line in `tree` one executable file in `directory`, as a Node.js single executable application of `node`, a program of
 * the release's architecture. Returns its path.
 */
export function packExecutable(
  source: ReleaseSource,
  given: { tree: string; node: string; directory: string },
): string {
  const { tree, node, directory } = given
  const stage = join(directory, 'executable')
  mkdirSync(stage)
  loadEsbuild().buildSync(cliExecutableBundle(tree, join(stage, 'boxyard.cjs')))
  const settings = {
    // The program contains these paths literally.
    ...{ main: 'boxyard.cjs', output: 'boxyard.blob', disableExperimentalSEAWarning: true },
    // Compiled, it starts in half of the time. Another architecture cannot use the code that this one compiles.
    useCodeCache: cpuOf(source.architecture) === process.arch,
  }
  writeFileSync(join(stage, 'sea.json'), JSON.stringify(settings))
  const run = (...args: string[]): void =>
    void execFileSync(process.execPath, args, { cwd: stage, stdio: ['ignore', 'ignore', 'pipe'] })
  // Predictable, so that each build is the same bytes.
  run('--predictable', '--experimental-sea-config', 'sea.json')
  const path = join(directory, `boxyard-cli-${source.version}-linux-${source.architecture}`)
  copyFileSync(node, path)
  chmodSync(path, 0o755)
  const postject = join(packagesOfBuild(), 'postject/dist/cli.js')
  run('--disable-warning=ExperimentalWarning', postject, path, 'NODE_SEA_BLOB', 'boxyard.blob', '--sentinel-fuse', FUSE)
  return path
}

/** Marker that Node.js looks for in itself to know that it carries a program. Its documentation names it. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
