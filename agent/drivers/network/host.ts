import { readdirSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { ServiceError } from '../../../shared/errors.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { parseResolvConf, type ResolverSettings } from './files.ts'
import { slotOfIdBase, slotOfInterface } from './slots.ts'

/** A route of the host from /proc/net/route; numbers are 32-bit. */
export interface HostRoute {
  interfaceName: string
  destination: number
  mask: number
}

/** The host's own IPv4 addresses. */
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
  const detail = `The host itself has the address ${taken} in ${subnet}, the subnet of boxes: configure another /16.`
  throw new ServiceError('runtime_unavailable', detail)
}

/** The host's IPv4 routes of its main tables. */
export function hostRoutes(): HostRoute[] {
  return parseRoutes(tryReadText('/proc/net/route'))
}

/** Reads the text of /proc/net/route. */
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

/** Bytes of the largest packet that the default route takes; 1500 if there is none. */
export function outboundMtu(): number {
  const route = hostRoutes().find(({ destination, mask }) => destination === 0 && mask === 0)
  const mtu = route ? Number(tryReadText(`/sys/class/net/${route.interfaceName}/mtu`)) : 0
  return mtu >= MTU_MIN ? mtu : MTU_DEFAULT
}

/** Tells whether the host forwards IPv4 packets between interfaces. */
export function isForwarding(): boolean {
  return tryReadText(FORWARDING_PATH).trim() === '1'
}

/** How many connections the host remembers, and can remember; null while it does not track them. */
export function trackedConnections(): { count: number; max: number } | null {
  const [count, max] = ['count', 'max'].map((name) =>
    Number(tryReadText(`/proc/sys/net/netfilter/nf_conntrack_${name}`)),
  )
  return count !== undefined && max ? { count, max } : null
}

/** Makes the host forward IPv4 packets. Throws `runtime_unavailable` with a remedy if it may not. */
export function enableForwarding(): void {
  if (isForwarding()) return
  try {
    writeFileSync(FORWARDING_PATH, '1')
  } catch (cause) {
    const detail = 'Cannot let the host forward packets: run `sysctl -w net.ipv4.ip_forward=1` as root.'
    throw new ServiceError('runtime_unavailable', detail, { cause })
  }
}

/** The resolvers for boxes: the host's where a box can reach them, else those systemd-resolved asks, else `fallback`. */
export function readResolvers(fallback: readonly string[]): ResolverSettings {
  const addresses = hostAddresses()
  const read = RESOLV_PATHS.map((path) => parseResolvConf(tryReadText(path), addresses))
  const usable = read.find(({ nameservers }) => nameservers.length > 0)
  return usable ?? { nameservers: [...fallback], otherLines: read[0]?.otherLines ?? [] }
}

/** The slots of instance `k` that some process lives in. */
export function inhabitedSlots(k: number): Set<number> {
  return new Set(processIdBases().flatMap((base) => slotOfIdBase(k, base) ?? []))
}

/** The slots of instance `k` whose interface exists. */
export function slotInterfaces(k: number): number[] {
  return readdirSync('/sys/class/net').flatMap((name) => slotOfInterface(k, name) ?? [])
}

/** The host id that stands for id 0 in each process of a user namespace of its own, one for each that has not ended. */
export function processIdBases(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) => {
    const base = Number(tryReadText(`/proc/${pid}/uid_map`).trim().split(/\s+/)[1] ?? 0)
    return base > 0 && !hasEnded(pid) ? [base] : []
  })
}

// Whoever should collect it may never do so. A first thread that ended alone is no end.
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
