import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import { RESERVED_HOST_NAMES } from '../../../shared/reserved-names.ts'

/** A box's entry in the hosts file of its project. */
export interface HostName {
  name: string
  address: string
}

/** The hosts files of projects, each updated in place while the project has a running box. */
export interface HostsFiles {
  /** Adds a box to its project's file, and returns the file's path. */
  add(project: string, host: HostName): string
  /** Returns the addresses in a project's file. */
  addressesOf(project: string): string[]
  /** Removes an address from its project's file, and the file with its last address. */
  remove(address: string): void
}

/** A parsed resolv.conf, with the nameservers that a box can use and its other settings. */
export interface ResolverSettings {
  nameservers: string[]
  otherLines: string[]
}

/**
 * Keeps hosts files in `directory`, which it creates. Takes over the files of an earlier process with their inodes, reduced to the
 * addresses for which `isLive` is true, since running boxes still use them.
 */
export function createHostsFiles(directory: string, isLive: (address: string) => boolean): HostsFiles {
  mkdirSync(directory, { recursive: true, mode: 0o711 })
  const projects = inheritProjects(directory, isLive)
  const write = (project: string, hosts: ReadonlyMap<string, HostName>): string => {
    const path = hostsPath(directory, project)
    writeInPlace(path, hostsText([...hosts.values()]))
    return path
  }
  return {
    add(project, host) {
      const hosts = projects.get(project) ?? new Map<string, HostName>()
      const path = write(project, hosts.set(host.address, host))
      projects.set(project, hosts)
      return path
    },
    addressesOf: (project) => [...(projects.get(project)?.keys() ?? [])],
    remove(address) {
      for (const [project, hosts] of projects) {
        if (!hosts.delete(address)) continue
        if (hosts.size > 0) write(project, hosts)
        else rmSync(hostsPath(directory, project), { force: true })
        if (hosts.size === 0) projects.delete(project)
      }
    },
  }
}

/** Returns the text of a hosts file, sorted by name, without boxes of earlier versions that have a reserved name. */
export function hostsText(hosts: readonly HostName[]): string {
  const named = hosts.filter(({ name }) => !RESERVED_HOST_NAMES.has(name))
  const sorted = named.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  return [...LOCALHOST_LINES, ...sorted.map(({ name, address }) => `${address} ${name}`), ''].join('\n')
}

/** Parses the boxes in a hosts file. */
export function parseHosts(text: string): HostName[] {
  return text.split('\n').flatMap((line) => {
    const [address = '', name] = line.split(' ')
    return name === undefined || LOCALHOST_LINES.includes(line) ? [] : [{ address, name }]
  })
}

/** Parses a resolv.conf. Leaves out nameservers that a box cannot reach: IPv6, loopback, link-local and the host's own, `hostAddresses`. */
export function parseResolvConf(text: string, hostAddresses: readonly string[]): ResolverSettings {
  const lines = text.split('\n').map((line) => line.trim())
  const nameservers = lines.flatMap((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
  return {
    nameservers: nameservers.filter((address) => isReachable(address, hostAddresses)),
    otherLines: lines.filter((line) => /^(search|domain|options|sortlist)\s/.test(line)),
  }
}

/** Returns the text of a box's resolv.conf. */
export function resolvConfText({ nameservers, otherLines }: ResolverSettings): string {
  return [...nameservers.map((address) => `nameserver ${address}`), ...otherLines, ''].join('\n')
}

/**
 * Overwrites a text file but keeps its inode, because boxes may have it bind-mounted, and a replacement would not reach them. A concurrent
 * reader may see empty lines at the end, but never old lines after the new ones.
 */
export function writeInPlace(path: string, text: string): void {
  const size = Buffer.byteLength(text)
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o644)
  try {
    const bytes = Buffer.alloc(Math.max(size, fstatSync(fd).size), '\n')
    bytes.write(text)
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, done)
    ftruncateSync(fd, size)
  } finally {
    closeSync(fd)
  }
}

function inheritProjects(directory: string, isLive: (address: string) => boolean): Map<string, Map<string, HostName>> {
  const projects = new Map<string, Map<string, HostName>>()
  for (const project of readdirSync(directory)) {
    const hosts = parseHosts(readFileSync(`${directory}/${project}`, 'utf8')).filter(({ address }) => isLive(address))
    if (hosts.length > 0) projects.set(project, new Map(hosts.map((host) => [host.address, host])))
    else rmSync(`${directory}/${project}`, { force: true })
  }
  return projects
}

function hostsPath(directory: string, project: string): string {
  if (!/^[a-z0-9-]{1,63}$/.test(project))
    throw new ServiceError('internal', 'The name of the project is not a valid file name.')
  return `${directory}/${project}`
}

function isReachable(address: string, hostAddresses: readonly string[]): boolean {
  const octets = /^\d{1,3}(\.\d{1,3}){3}$/.test(address) ? address.split('.').map(Number) : []
  const isIpv4 = octets.length === 4 && octets.every((octet) => octet <= 255)
  const isLinkLocal = octets[0] === 169 && octets[1] === 254
  return isIpv4 && octets[0] !== 127 && octets[0] !== 0 && !isLinkLocal && !hostAddresses.includes(address)
}

/** The lines with which every hosts file begins. */
export const LOCALHOST_LINES = ['127.0.0.1 localhost', '::1 localhost ip6-localhost ip6-loopback']
