import fs from 'node:fs/promises'
import path from 'node:path'
import { CommandError, runOk } from '../../lib/run.ts'
import { type AptSource, stripCredentials } from './apt-sources.ts'
import {
  type HostArchive,
  hostArchive,
  hostProxyOptions,
  readOptional,
  STABLE_SUITE,
  sourcesFor,
} from './host-archive.ts'
import { makeMountPoints, removeFilesBelow, replaceFile } from './root.ts'

export interface DebianBuildOptions {
  progress: (message: string) => void
  signal: AbortSignal
}

/**
 * Fills the empty directory `root` with a minimal Debian of the current stable release. Uses the archive and the keys of the host's own apt
 * configuration. If that archive lacks the release, uses the host's release. Takes about 20 s.
 */
export async function buildDebianBase(root: string, options: DebianBuildOptions): Promise<void> {
  const host = await hostArchive()
  const suites = host.suite === STABLE_SUITE ? [STABLE_SUITE] : [STABLE_SUITE, host.suite]
  for (const [index, suite] of suites.entries()) {
    options.progress(`Building the debian base (${suite}), once, about 20 seconds`)
    try {
      await bootstrap(root, { ...options, sources: sourcesFor(suite, host), suite })
      await tidy(root, suite, host)
      return
    } catch (error) {
      const isLast = index === suites.length - 1
      // Another suite needs the same space.
      if (!(error instanceof CommandError) || error.code !== undefined || isLast) throw error
      options.progress(`The Debian mirror of the host has no usable ${suite}: ${lastLine(error.stderr)}`)
      await emptyRoot(root)
    }
  }
}

async function bootstrap(
  root: string,
  options: DebianBuildOptions & { sources: readonly string[]; suite: string },
): Promise<void> {
  const proxies = await hostProxyOptions()
  await runOk(
    'unshare',
    [
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      BUILD_SCRIPT,
      root,
      '--variant=minbase',
      '--mode=root',
      `--include=${PACKAGES.join(',')}`,
      '--dpkgopt=force-unsafe-io',
      '--aptopt=Acquire::Languages "none"',
      '--aptopt=Acquire::Retries "3"',
      ...proxies,
      options.suite,
      root,
      ...options.sources,
    ],
    {
      cwd: '/',
      signal: options.signal,
      timeoutMs: BUILD_TIMEOUT_MS,
      onStderr: createNarrator(options.progress),
    },
  )
}

/** Translates the output of mmdebstrap into progress lines for people. */
function createNarrator(progress: (message: string) => void): (text: string) => void {
  let rest = ''
  return (text) => {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const stage = STAGES.find(([start]) => line.startsWith(start))
      if (stage !== undefined) progress(stage[1])
    }
  }
}

/** Removes the traces of the host and of the build. */
async function tidy(root: string, suite: string, host: HostArchive): Promise<void> {
  await makeMountPoints(root)
  for (const directory of ['var/lib/apt/lists', 'var/cache', 'var/log']) await removeFilesBelow(root, directory)
  for (const file of ['etc/apt/apt.conf.d/99mmdebstrap', 'etc/dpkg/dpkg.cfg.d/99mmdebstrap']) {
    await fs.rm(path.join(root, file), { force: true })
  }
  const signedBy = (await readOptional(path.join(root, DEBIAN_KEYRING))) === '' ? null : DEBIAN_KEYRING
  const clean = (source: AptSource): AptSource => ({ ...source, uri: stripCredentials(source.uri), signedBy })
  const lines = sourcesFor(suite, {
    suite,
    main: clean(host.main),
    security: host.security === null ? null : clean(host.security),
  })
  await replaceFile(root, { path: 'etc/apt/sources.list', text: `${lines.join('\n')}\n` })
}

async function emptyRoot(root: string): Promise<void> {
  for (const name of await fs.readdir(root)) await fs.rm(path.join(root, name), { recursive: true, force: true })
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}

const DEBIAN_KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const PACKAGES = ['bash', 'ca-certificates', 'curl', 'procps', 'iproute2', 'git']
const BUILD_TIMEOUT_MS = 15 * 60_000

// The pool is mounted nodev, and the build needs devices. So the script lifts that for this directory in its own mount namespace, which
// also removes its mounts however the build ends. The messages of a full disk are in English in any language of the host.
const BUILD_SCRIPT =
  'export LC_ALL=C.UTF-8; mount --bind "$0" "$0" && mount -o remount,bind,dev "$0" && exec mmdebstrap "$@"'

const STAGES = [
  ['I: running apt-get update', 'Reading the package lists'],
  ['I: downloading packages', 'Fetching packages'],
  ['I: extracting archives', 'Unpacking'],
  ['I: installing essential', 'Installing the essential packages'],
  ['I: installing remaining', 'Installing the other packages'],
  ['I: cleaning', 'Cleaning up'],
] as const
