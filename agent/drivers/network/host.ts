import { readdirSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { ServiceError } from '../../../shared/errors.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { parseResolvConf, type ResolverSettings } from './files.ts'
import { interfacePrefix, slotOfIdBase, slotOfInterface } from './slots.ts'

/** An IPv4 route from /proc/net/route. Destination and mask are 32-bit numbers. */
export interface HostRoute {
  interfaceName: string
  destination: number
  mask: number
}

/** Returns the host's own IPv4 addresses. */
export function hostAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.filter(({ family }) => family === 'IPv4').map(({ address }) => address),
  )
}

/** Throws `runtime_unavailable` if the host itself has an address in `subnet`, a /16. */
export function assertSubnetIsFree(subnet: string): void {
  const prefix = subnet.slice(0, subnet.indexOf('.0.0/') + 1)
  const taken = hostAddresses().find((address) => address.startsWith(prefix))
  if (taken === undefined) return
  const detail = `The host has the address ${taken} in ${subnet}, the subnet of boxes. Set BOXYARD_SUBNET to another /16.`
  throw new ServiceError('runtime_unavailable', detail)
}

/** Returns the IPv4 routes in /proc/net/route. */
export function hostRoutes(): HostRoute[] {
  return parseRoutes(tryReadText('/proc/net/route'))
}

/** Parses the text of /proc/net/route. */
export function parseRoutes(text: string): HostRoute[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [interfaceName, destination, , , , , , mask] = line.split('\t')
      if (!interfaceName || !destination || !mask) return []
      return [{ interfaceName, destination: swapped(destination), mask: swapped(mask) }]
    })
}

/** Returns the MTU of the default route in bytes, or 1500 if there is none. */
export function outboundMtu(): number {
  const route = hostRoutes().find(({ destination, mask }) => destination === 0 && mask === 0)
  const mtu = route ? Number(tryReadText(`/sys/class/net/${route.interfaceName}/mtu`)) : 0
  return mtu >= MTU_MIN ? mtu : MTU_DEFAULT
}

/** Returns true if the host forwards IPv4 packets between interfaces. */
export function isForwarding(): boolean {
  return tryReadText(FORWARDING_PATH).trim() === '1'
}

/** Returns the number and the maximum of conntrack entries, or null while the kernel does not track connections. */
export function trackedConnections(): { count: number; max: number } | null {
  const [count, max] = ['count', 'max'].map((name) =>
    Number(tryReadText(`/proc/sys/net/netfilter/nf_conntrack_${name}`)),
  )
  return count !== undefined && max ? { count, max } : null
}

/** Enables IPv4 forwarding on the host. Throws `runtime_unavailable` with a remedy if that fails. */
export function enableForwarding(): void {
  if (isForwarding()) return
  try {
    writeFileSync(FORWARDING_PATH, '1')
  } catch (cause) {
    const detail = 'Cannot enable IPv4 forwarding on the host. Run `sysctl -w net.ipv4.ip_forward=1` as root.'
    throw new ServiceError('runtime_unavailable', detail, { cause })
  }
}

/**
 * Returns the resolvers for boxes. Prefers resolvers of the host that a box can reach, then systemd-resolved's upstream ones, then
 * `fallback`.
 */
export function readResolvers(fallback: readonly string[]): ResolverSettings {
  const addresses = hostAddresses()
  const read = RESOLV_PATHS.map((path) => parseResolvConf(tryReadText(path), addresses))
  const usable = read.find(({ nameservers }) => nameservers.length > 0)
  return usable ?? { nameservers: [...fallback], otherLines: read[0]?.otherLines ?? [] }
}

/** Returns the slots of instance `k` that have a live process. */
export function inhabitedSlots(k: number): Set<number> {
  return new Set(processIdBases().flatMap((base) => slotOfIdBase(k, base) ?? []))
}

/** Returns the slots of instance `k` whose interface exists. */
export function slotInterfaces(k: number): number[] {
  return readdirSync('/sys/class/net').flatMap((name) => slotOfInterface(k, name) ?? [])
}

/** Returns true if an interface of instance `k` exists, of a box or of a name server. */
export function hasInterfaces(k: number): boolean {
  return readdirSync('/sys/class/net').some((name) => name.startsWith(interfacePrefix(k)))
}

/** Returns, for each live process in a user namespace other than the host's, the host id that its id 0 maps to. */
export function processIdBases(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) => {
    const base = Number(tryReadText(`/proc/${pid}/uid_map`).trim().split(/\s+/)[1] ?? 0)
    return base > 0 && !hasEnded(pid) ? [base] : []
  })
}

// Zombies count as ended, since their parent may never reap them. A dead main thread with other threads left does not.
function hasEnded(pid: string): boolean {
  if (!/\) [ZX] /.test(tryReadText(`/proc/${pid}/stat`))) return false
  return (/^Threads:\t(\d+)/m.exec(tryReadText(`/proc/${pid}/status`))?.[1] ?? '1') === '1'
}

function swapped(hex: string): number {
  return Buffer.from(hex, 'hex').readUInt32LE(0)
}

const FORWARDING_PATH = '/proc/sys/net/ipv4/ip_forward'
const RESOLV_PATHS = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']
const MTU_MIN = 576
const MTU_DEFAULT = 1500
