import fs from 'node:fs/promises'
import { run } from '../../lib/run.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { type AptSource, findSuite, formatSource, parseListFile, parseSourcesFile } from './apt-sources.ts'

/** Where the host's own apt fetches packages of Debian. */
export interface HostArchive {
  /** Code name of the host's own release. */
  suite: string
  main: AptSource
  security: AptSource | null
}

/**
 * Reads the archive of the host's own release from its apt configuration.
 * @throws Error if there is none
 */
export async function hostArchive(): Promise<HostArchive> {
  const release = await fs.readFile('/etc/os-release', 'utf8')
  const suite = /^VERSION_CODENAME=["']?([\w-]+)/m.exec(release)?.[1] ?? STABLE_SUITE
  const sources = await readHostSources()
  const main = findSuite(sources, suite)
  if (main === null) {
    throw new Error(
      `The debian base needs a Debian archive, and apt on this host has none for ${suite}. ` +
        'Add one to /etc/apt/sources.list, or use the busybox base.',
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

/** Returns lines of a sources.list for `suite`, with its updates and security updates where the archive has them. */
export function sourcesFor(suite: string, host: HostArchive): string[] {
  const main = { ...host.main, components: ['main'] }
  const lines = [formatSource(main, suite)]
  if (main.uri.startsWith('http')) lines.push(formatSource(main, `${suite}-updates`))
  if (host.security !== null) lines.push(formatSource({ ...host.security, components: ['main'] }, `${suite}-security`))
  return lines
}

/** Returns the proxy options of the host's apt as flags, because mmdebstrap's own apt does not read the host's configuration. */
export async function hostProxyOptions(): Promise<string[]> {
  const { stdout } = await run('apt-config', ['dump'], { timeoutMs: 10_000 })
  const wanted = /^Acquire::(https?::(Proxy|Verify-Peer|CAInfo|CaInfo)\b[^ ]*|Retries) ".+";$/
  return stdout
    .split('\n')
    .filter((line) => wanted.test(line))
    .map((line) => `--aptopt=${line}`)
}

/** Reads a text file, or returns an empty text if there is none. */
export async function readOptional(file: string): Promise<string> {
  try {
    return await fs.readFile(file, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return ''
    throw error
  }
}

/** The current stable release of Debian. */
export const STABLE_SUITE = 'trixie'
const APT = '/etc/apt'
