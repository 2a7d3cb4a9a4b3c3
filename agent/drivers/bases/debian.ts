import fs from 'node:fs/promises'
import path from 'node:path'
import { CommandError, run, runOk } from '../../lib/run.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import {
  type AptSource,
  findSuite,
  formatSource,
  parseListFile,
  parseSourcesFile,
  stripCredentials,
} from './apt-sources.ts'
import { makeMountPoints, removeFilesBelow, replaceFile } from './root.ts'

export interface DebianBuildOptions {
  progress: (message: string) => void
  signal: AbortSignal
}

/**
 * Fills the empty directory `root` with a minimal Debian of the current stable release, from the archive and with the keys of the
 * host's own apt configuration; if that archive lacks it, of the host's release. Takes about 20 s.
 */
export async function buildDebianBase(root: string, options: DebianBuildOptions): Promise<void> {
  const host = await hostArchive()
  const suites = host.suite === STABLE_SUITE ? [STABLE_SUITE] : [STABLE_SUITE, host.suite]
  for (const [index, suite] of suites.entries()) {
    options.progress(`Building the debian base (${suite}): this takes about 20 seconds, once`)
    try {
      await bootstrap(root, { ...options, sources: sourcesFor(suite, host), suite })
      await tidy(root, suite, host)
      return
    } catch (error) {
      if (!(error instanceof CommandError) || index === suites.length - 1) throw error
      options.progress(`The host's archive has no usable ${suite}: ${lastLine(error.stderr)}`)
      await emptyRoot(root)
    }
  }
}

interface HostArchive {
  /** Code name of the host's own release. */
  suite: string
  main: AptSource
  security: AptSource | null
}

async function hostArchive(): Promise<HostArchive> {
  const release = await fs.readFile('/etc/os-release', 'utf8')
  const suite = /^VERSION_CODENAME=["']?([\w-]+)/m.exec(release)?.[1] ?? STABLE_SUITE
  const sources = await readHostSources()
  const main = findSuite(sources, suite)
  if (main === null) {
    throw new Error(
      `The debian base needs a Debian archive, and apt on this host has none for ${suite}: ` +
        'add one to /etc/apt/sources.list, or use the busybox base.',
    )
  }
  const security = findSuite(sources, `${suite}-security`)
  return {
    suite,
    main: await fetchable(main),
    security: security === null ? null : await fetchable(security),
  }
}

async function readHostSources(): Promise<AptSource[]> {
  const names = await fs.readdir(`${APT}/sources.list.d`).catch(() => [])
  const files = [`${APT}/sources.list`, ...names.sort().map((name) => `${APT}/sources.list.d/${name}`)]
  const sources: AptSource[] = []
  for (const file of files) {
    const text = await readOptional(file)
    if (file.endsWith('.list')) sources.push(...parseListFile(text))
    if (file.endsWith('.sources')) sources.push(...parseSourcesFile(text))
  }
  return sources
}

/** Replaces a list of mirrors on this host by its first mirror. */
async function fetchable(source: AptSource): Promise<AptSource> {
  if (!source.uri.startsWith('mirror+file:')) return source
  const list = await readOptional(source.uri.slice('mirror+file:'.length).replace(/^\/\/(?=\/)/, ''))
  const first = list.split('\n').find((line) => /^https?:/.test(line))
  return first === undefined ? source : { ...source, uri: first.split(/\s/)[0] ?? source.uri }
}

function sourcesFor(suite: string, host: HostArchive): string[] {
  const main = { ...host.main, components: ['main'] }
  const lines = [formatSource(main, suite)]
  if (main.uri.startsWith('http')) lines.push(formatSource(main, `${suite}-updates`))
  if (host.security !== null) lines.push(formatSource({ ...host.security, components: ['main'] }, `${suite}-security`))
  return lines
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

/** Returns the proxy options of the host's apt as flags: mmdebstrap's own apt does not read the host's configuration. */
async function hostProxyOptions(): Promise<string[]> {
  const { stdout } = await run('apt-config', ['dump'], { timeoutMs: 10_000 })
  const wanted = /^Acquire::(https?::(Proxy|Verify-Peer|CAInfo|CaInfo)\b[^ ]*|Retries) ".+";$/
  return stdout
    .split('\n')
    .filter((line) => wanted.test(line))
    .map((line) => `--aptopt=${line}`)
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

async function readOptional(file: string): Promise<string> {
  try {
    return await fs.readFile(file, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return ''
    throw error
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}

const STABLE_SUITE = 'trixie'
const APT = '/etc/apt'
const DEBIAN_KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const PACKAGES = ['bash', 'ca-certificates', 'curl', 'procps', 'iproute2', 'git']
const BUILD_TIMEOUT_MS = 15 * 60_000

// The pool is mounted nodev; the build needs devices, so it lifts that for this directory in a mount namespace of its own, which
// also removes its mounts however the build ends.
const BUILD_SCRIPT = 'mount --bind "$0" "$0" && mount -o remount,bind,dev "$0" && exec mmdebstrap "$@"'

const STAGES = [
  ['I: running apt-get update', 'Reading the package lists'],
  ['I: downloading packages', 'Fetching packages'],
  ['I: extracting archives', 'Unpacking'],
  ['I: installing essential', 'Installing the essential packages'],
  ['I: installing remaining', 'Installing the other packages'],
  ['I: cleaning', 'Cleaning up'],
] as const
