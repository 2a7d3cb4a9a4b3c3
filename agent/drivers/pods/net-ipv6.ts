import { closeSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { inNetworkNamespace } from '../../lib/syscalls/netlink.ts'

/**
 * Takes IPv6 from all interfaces of a pod's network but loopback, whose ::1 programs expect: by link-local addresses a box
 * would reach the node, and on a bridge other boxes, where rules about IPv4 addresses say nothing.
 */
export function disableIpv6(networkNamespace: string): void {
  const namespace = openSync(networkNamespace, 'r')
  try {
    inNetworkNamespace(namespace, () => {
      for (const name of interfaceSettings()) writeFileSync(`${SETTINGS}/${name}/disable_ipv6`, '1')
    })
  } finally {
    closeSync(namespace)
  }
}

/** Those of interfaces that are there, and of those to come. */
function interfaceSettings(): string[] {
  try {
    return readdirSync(SETTINGS).filter((name) => name !== 'lo' && name !== 'all')
  } catch {
    // A kernel without IPv6.
    return []
  }
}

const SETTINGS = '/proc/sys/net/ipv6/conf'
