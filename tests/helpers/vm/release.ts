import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { withLock } from '../../../infra/cluster/host-lock.ts'
import { dieWithParent, ROOT } from '../../../infra/commands.ts'
import { MACHINE_ARCHITECTURE, vmCache } from '../../../infra/vm/image.ts'
import { lendWebPackages } from '../web/packages.ts'

/**
 * Returns the path of a Debian package of this work tree, including uncommitted changes. Keeps packages outside the checkout, by a hash of
 * the program's files. So a package can be from an earlier commit that differs in documents or tests.
 * @param change changes files in a copy of the tree first
 */
export async function packWorkTree(change?: { name: string; apply(checkout: string): void }): Promise<string> {
  const scratch = mkdtempSync(join(tmpdir(), 'boxyard-pack-'))
  try {
    const checkout = join(scratch, 'checkout')
    run('git', ['clone', '--quiet', '--shared', '--no-checkout', ROOT, checkout])
    // Gives later commits later versions, and the same tree the same version.
    const date = run('git', ['-C', ROOT, 'log', '-1', '--format=%cI'])
    const commit = (workTree: string, message: string): void => {
      const git = (...args: string[]): string =>
        run('git', ['--git-dir', join(checkout, '.git'), '--work-tree', workTree, ...IDENTITY, ...args], date)
      git('add', '--all')
      git('commit', '--quiet', '--allow-empty', '--message', message)
    }
    commit(ROOT, 'Take the work tree')
    run('git', ['-C', checkout, 'checkout', '--quiet', '--force', 'HEAD'])
    if (change !== undefined) {
      change.apply(checkout)
      commit(checkout, change.name)
    }
    lendWebPackages(checkout)
    return await packOnce(checkout)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Builds the package of a clean checkout, unless one of the same programs exists. */
async function packOnce(checkout: string): Promise<string> {
  const kept = join(vmCache(), 'releases')
  const programs = `${FILES} ${MACHINE_ARCHITECTURE} ${run('git', ['-C', checkout, 'ls-tree', '-r', 'HEAD', '--', ...PROGRAMS])}`
  const directory = join(kept, createHash('sha256').update(programs).digest('hex').slice(0, 16))
  return await withLock('vm-release', async () => {
    if (!existsSync(directory)) {
      const unfinished = `${directory}.unfinished`
      rmSync(unfinished, { recursive: true, force: true })
      mkdirSync(unfinished, { recursive: true })
      removeOld(kept)
      const program = ['--disable-warning=ExperimentalWarning', join(checkout, 'infra/release.ts')]
      const made = run(process.execPath, [...program, MACHINE_ARCHITECTURE, '--service'])
      for (const path of made.split('\n')) renameSync(path, join(unfinished, basename(path)))
      renameSync(unfinished, directory)
    }
    utimesSync(directory, new Date(), new Date())
    return join(directory, readdirSync(directory).find((name) => name.endsWith('.deb')) ?? '')
  })
}

/** Returns the path of the archive that `packWorkTree` built with a package. */
export function archiveOf(deb: string): string {
  const directory = dirname(deb)
  return join(directory, readdirSync(directory).find((name) => name.endsWith('.tar.zst')) ?? '')
}

function removeOld(kept: string): void {
  const paths = readdirSync(kept).map((name) => join(kept, name))
  paths.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
  for (const path of paths.slice(KEPT_RELEASES)) rmSync(path, { recursive: true })
}

function run(program: string, args: readonly string[], date?: string): string {
  const [first = '', ...rest] = dieWithParent([program, ...args])
  const dates = date === undefined ? {} : { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date }
  return execFileSync(first, rest, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
    env: { ...process.env, ...dates },
  }).trim()
}

const IDENTITY = ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', '-c', 'core.hooksPath=/dev/null']
/** All files that affect the package's behaviour. */
const PROGRAMS = [
  ...['agent', 'functions', 'shared', 'infra/node', 'infra/kubernetes', 'infra/monitoring', 'infra/systemd'],
  ...['infra/release', 'infra/release.ts', 'infra/setup.sh', 'package.json', 'package-lock.json'],
  ...['cli', 'sdk/typescript/src', 'web', 'infra/web', 'infra/cli-bundle.ts'],
]
/** Kinds of files that a release keeps. */
const FILES = 'package, archive'
const KEPT_RELEASES = 6
