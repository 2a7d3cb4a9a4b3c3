import { type LookupAddress, lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { buildConnector } from 'undici'
import { imageFault } from './faults.ts'

/**
 * Returns true for addresses of the open internet. Returns false for this host, private, link-local, multicast and otherwise reserved
 * ranges. Also returns false for IPv6 addresses that embed IPv4 ones, and for invalid addresses.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !SPECIAL_4.check(address, 'ipv4') && !isOwn(address, 'ipv4')
  if (family !== 6 || address.includes('%')) return false
  return GLOBAL_6.check(address, 'ipv6') && !SPECIAL_6.check(address, 'ipv6') && !isOwn(address, 'ipv6')
}

/**
 * Connects only to public addresses, except for the origins in `named`. Checks the address of the connection itself, so
 * that a name cannot resolve differently between check and use.
 */
export function createGuardedConnector(
  build: typeof buildConnector,
  { named, timeoutMs }: { named: ReadonlySet<string>; timeoutMs: number },
): buildConnector.connector {
  const options = { timeout: timeoutMs, allowH2: false }
  const connect = build(options)
  const connectPublic = build({ ...options, lookup: lookupPublic })
  return (to, callback) => {
    if (named.has(new URL(`${to.protocol}//${to.host ?? to.hostname}`).origin)) return connect(to, callback)
    // Literal addresses skip the lookup.
    if (isIP(to.hostname) !== 0 && !isPublicAddress(to.hostname)) {
      return process.nextTick(() => callback(addressRefused(), null))
    }
    connectPublic(to, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      if (isPublicAddress(socket.remoteAddress ?? '')) return callback(null, socket)
      socket.destroy()
      callback(addressRefused(), null)
    })
  }
}

const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, [])
    const [first, ...others] = found.filter(({ address }) => isPublicAddress(address))
    if (first === undefined) return callback(addressRefused(), [])
    if (options.all === true) return callback(null, [first, ...others] satisfies LookupAddress[])
    callback(null, first.address, first.family)
  })
}

function isOwn(address: string, family: 'ipv4' | 'ipv6'): boolean {
  const own = new BlockList()
  for (const each of Object.values(networkInterfaces()).flat()) {
    if (each?.family.toLowerCase() === family) own.addAddress(each.address, family)
  }
  return own.check(address, family)
}

function addressRefused() {
  return imageFault('the registry leads to an address that is not public, which only the operator can allow')
}

function blockList(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const blocked = new BlockList()
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/')
    blocked.addSubnet(address, Number(bits), family)
  }
  return blocked
}

// From IANA's special-purpose registries, with ranges that are not globally reachable, multicast, and 6to4 relays.
const SPECIAL_4 = blockList('ipv4', [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
])
const GLOBAL_6 = blockList('ipv6', ['2000::/3'])
// Includes Teredo and 6to4, which carry IPv4 addresses.
const SPECIAL_6 = blockList('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])
