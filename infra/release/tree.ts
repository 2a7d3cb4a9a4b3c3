import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from '../commands.ts'
import { buildConsole } from '../web/build.ts'
import { bundlePrograms } from './bundle.ts'
import { dropBundledPackages } from './bundled-packages.ts'
import { dropUnloadedFiles } from './package-files.ts'

export type Architecture = 'amd64' | 'arm64'

/** Inputs of a release. */
export interface ReleaseSource {
  version: string
  commit: string
  /** Time of the commit in seconds since the epoch, which every file gets. */
  epoch: number
  architecture: Architecture
}

/** Reads version, commit and time from the repository. @throws Error if files differ from the commit */
export function readSource(architecture: Architecture): ReleaseSource {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain')
  if (changed !== '') throw new Error(`A release is made of a commit, and these files differ from it:\n${changed}`)
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  const commit = git('rev-parse', 'HEAD')
  const isTagged = git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`)
  // Later commits have later versions.
  const suffix = isTagged ? '' : `+${git('rev-list', '--count', 'HEAD')}.${commit.slice(0, 9)}`
  return { version: `${version}${suffix}`, commit, epoch: Number(git('log', '-1', '--format=%ct')), architecture }
}

/** Lays out the files of the program below `root`, an empty directory, as on a host. */
export function layOut(root: string, source: ReleaseSource): void {
  const lib = join(root, 'usr/lib/boxyard')
  mkdirSync(lib, { recursive: true })
  const files = execFileSync('git', ['archive', source.commit, ...PROGRAM], { cwd: ROOT, maxBuffer: ARCHIVE_BYTES })
  execFileSync('tar', ['-x', '-C', lib], { input: files })
  installPackages(lib, source.architecture)
  bundlePrograms(lib)
  dropBundledPackages(lib)
  dropUnloadedFiles(join(lib, 'node_modules'))
  buildConsole(join(lib, 'console'))
  const { version, commit } = source
  writeFileSync(join(lib, 'release.json'), `${JSON.stringify({ version, commit })}\n`)
  place(root, 'infra/release/boxyard', 'usr/bin/boxyard')
  place(root, 'infra/release/boxyard.conf', 'etc/boxyard/boxyard.conf')
  for (const unit of UNITS) place(root, `infra/systemd/${unit}`, `usr/lib/systemd/system/${unit}`)
  for (const page of ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs'])
    place(root, page, `usr/share/doc/boxyard/${page}`)
  settle(root, source.epoch)
}

// Installs by the lock file, for the release's architecture, which can differ from this machine's.
function installPackages(lib: string, architecture: Architecture): void {
  const cpu = cpuOf(architecture)
  const options = ['--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const target = ['--os=linux', '--libc=glibc', `--cpu=${cpu}`]
  cpSync(join(ROOT, 'package-lock.json'), join(lib, 'package-lock.json'))
  execFileSync('npm', ['ci', ...options, ...target], { cwd: lib, stdio: ['ignore', 'ignore', 'inherit'] })
  rmSync(join(lib, 'package-lock.json'))
  rmSync(join(lib, 'node_modules/.package-lock.json'))
  for (const unused of ['include', 'share'])
    rmSync(join(lib, `node_modules/node-linux-${cpu}`, unused), { recursive: true })
}

/** Returns the path of Node.js in a release that is laid out below `root`. */
export function nodeOf(root: string, architecture: Architecture): string {
  return join(root, `usr/lib/boxyard/node_modules/node-linux-${cpuOf(architecture)}/bin/node`)
}

/** Returns the name of an architecture in Node.js and npm. */
export function cpuOf(architecture: Architecture): 'x64' | 'arm64' {
  return architecture === 'amd64' ? 'x64' : 'arm64'
}

function place(root: string, from: string, to: string): void {
  const target = join(root, to)
  mkdirSync(dirname(target), { recursive: true })
  cpSync(join(ROOT, from), target, { recursive: true })
}

/** Gives all files below a directory the modes and the time of every build. */
export function settle(directory: string, epoch: number): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isSymbolicLink()) {
      const isExecutable = entry.isDirectory() || (lstatSync(path).mode & 0o100) !== 0
      chmodSync(path, isExecutable ? 0o755 : 0o644)
    }
    lutimesSync(path, epoch, epoch)
  }
  chmodSync(directory, 0o755)
  lutimesSync(directory, epoch, epoch)
}

export const UNITS = ['boxyard-agent.service', 'boxyard-boxes.service', 'boxyard-front.service'] as const
/** Parts of the repository that a host needs to run the agent, the front, a node of a cluster, and the command line. */
const PROGRAM = [
  ...['agent', 'functions', 'shared', 'cli', 'sdk/typescript/src'],
  ...['infra/node', 'infra/kubernetes', 'infra/monitoring', 'package.json'],
]
const ARCHIVE_BYTES = 256 * 1024 ** 2
