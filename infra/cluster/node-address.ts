import { execFileSync } from 'node:child_process'

/** Returns the address of the default route, by which the API server reaches the kubelet. A kubelet refuses a loopback address. */
export function findNodeAddress(): { address: string; mtu: number } {
  const routes = JSON.parse(execFileSync('ip', ['-4', '-json', 'route', 'show', 'default'], { encoding: 'utf8' })) as {
    dev: string
  }[]
  for (const { dev } of routes) {
    const [link] = JSON.parse(execFileSync('ip', ['-4', '-json', 'address', 'show', dev], { encoding: 'utf8' })) as {
      mtu: number
      addr_info: { local: string }[]
    }[]
    const address = link?.addr_info[0]?.local
    if (link && address !== undefined) return { address, mtu: link.mtu }
  }
  throw new Error('This host has no default IPv4 route. A Kubernetes node needs an address that is not loopback.')
}
