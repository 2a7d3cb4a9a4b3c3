import { existsSync } from 'node:fs'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { ipv4Bytes } from '../../lib/syscalls/rtnetlink.ts'
import { hostRoutes } from '../network/host.ts'

/**
 * The bridge by which the host reaches `address`, if what passes between the bridge's own ports is kept from the rules
 * about IPv4: pods on it would reach each other whatever those say. Null if there is nothing to fear.
 */
export function findOpenBridge(address: string): string | null {
  const name = interfaceTo(address)
  if (name === null || !existsSync(`/sys/class/net/${name}/bridge`)) return null
  const switches = ['/proc/sys/net/bridge/bridge-nf-call-iptables', `/sys/class/net/${name}/bridge/nf_call_iptables`]
  return switches.some((path) => tryReadText(path).trim() === '1') ? null : name
}

/** What is to be done about an open bridge. */
export const OPEN_BRIDGE_REMEDY =
  'Run `modprobe br_netfilter; sysctl -w net.bridge.bridge-nf-call-iptables=1`, as every node of a cluster should, and ' +
  'keep both in /etc/modules-load.d and /etc/sysctl.d.'

/** The interface of the most exact route; the default route is none. */
function interfaceTo(address: string): string | null {
  const wanted = ipv4Bytes(address).readUInt32BE(0)
  const [best] = hostRoutes()
    .filter(({ destination, mask }) => mask !== 0 && (wanted & mask) >>> 0 === destination)
    .toSorted((one, other) => other.mask - one.mask)
  return best?.interfaceName ?? null
}
