import * as z from 'zod'
import { run } from '../../lib/run.ts'
import { type Nftables, openNftables } from '../../lib/syscalls/nftables.ts'
import { ipv4Bytes } from '../../lib/syscalls/rtnetlink.ts'
import type { NetworkProblem } from '../../ports/boxes/network.ts'
import { neighbourTable } from '../host/network-tables.ts'
import { hostRoutes, isForwarding, trackedConnections } from './host.ts'

export interface ProblemsRequest {
  subnet: string
  egress: boolean
  /** Nameservers of boxes. */
  nameservers: readonly string[]
}

/** A base chain of another program at the forward hook. */
export interface ForwardChain {
  family: string
  table: string
  chain: string
}

/** Finds the current problems of the host's network, with evidence and remedy. */
export async function findNetworkProblems(request: ProblemsRequest): Promise<NetworkProblem[]> {
  return [
    ...(isForwarding() ? [] : [FORWARDING_OFF]),
    ...foreignDrops(),
    ...(await legacyDrop()),
    ...resolverProblems(request),
    ...subnetProblems(request.subnet),
    ...connectionProblems(),
    ...neighbourProblems(),
  ]
}

/** Returns the problem of a removed table, such as after a flush of the whole ruleset. */
export function packetFilterRemoved(table: string): NetworkProblem {
  return {
    code: 'packet_filter_removed',
    evidence: `another program removed table inet ${table} in the last ten minutes, and the agent loaded it again`,
    remedy:
      'Find the program that flushes the whole nft ruleset, such as a firewall service. Configure it to replace only its own tables.',
  }
}

/** Returns the base chains in nft's JSON listing that drop forwarded IPv4 packets by policy, except the chains of this service. */
export function parseForwardDrops(listing: string): ForwardChain[] {
  const parsed = CHAINS.safeParse(JSON.parse(listing))
  return (parsed.data?.nftables ?? []).flatMap(({ chain }) => {
    if (chain?.hook !== 'forward' || chain.policy !== 'drop' || !['ip', 'inet'].includes(chain.family)) return []
    if (chain.table.startsWith('boxyard_')) return []
    return [{ family: chain.family, table: chain.table, chain: chain.name }]
  })
}

function foreignDrops(): NetworkProblem[] {
  let json: Nftables | undefined
  let text: Nftables | undefined
  try {
    json = openNftables({ json: true })
    const lists = openNftables()
    text = lists
    return parseForwardDrops(json.run('list chains'))
      .filter(({ family, table }) => !NAMES_OUR_INTERFACES.test(lists.run(`list table ${family} ${table}`)))
      .map(({ family, table, chain }) => forwardDrop(`nft chain ${family} ${table} ${chain} has policy drop`))
  } catch {
    // Another program may change the ruleset during the listing. The next health report tries again.
    return []
  } finally {
    json?.close()
    text?.close()
  }
}

/** Checks the FORWARD chain of iptables-legacy, which nftables does not list. */
async function legacyDrop(): Promise<NetworkProblem[]> {
  try {
    const { exitCode, stdout } = await run('iptables-legacy', ['-S', 'FORWARD'], { timeoutMs: LEGACY_TIMEOUT_MS })
    const isDrop = exitCode === 0 && stdout.includes('-P FORWARD DROP') && !NAMES_OUR_INTERFACES.test(stdout)
    return isDrop ? [forwardDrop('iptables-legacy: -P FORWARD DROP')] : []
  } catch {
    // iptables-legacy is not installed.
    return []
  }
}

function forwardDrop(evidence: string): NetworkProblem {
  return {
    code: 'forward_dropped',
    evidence,
    remedy:
      'Allow box traffic: `iptables -I DOCKER-USER -i bx+ -j ACCEPT; iptables -I DOCKER-USER -o bx+ -j ACCEPT` ' +
      '(without Docker: the chain FORWARD). The rules of this service still isolate boxes.',
  }
}

function resolverProblems({ egress, nameservers }: ProblemsRequest): NetworkProblem[] {
  if (!egress || nameservers.length > 0) return []
  return [
    {
      code: 'no_nameserver',
      evidence: '/etc/resolv.conf names no IPv4 nameserver outside the host itself',
      remedy: 'Set nameservers for boxes: BOXYARD_DNS.',
    },
  ]
}

function subnetProblems(subnet: string): NetworkProblem[] {
  const network = ipv4Bytes(subnet.split('/')[0] ?? '').readUInt32BE(0)
  return hostRoutes()
    .filter(({ interfaceName, mask }) => !interfaceName.startsWith('bx') && mask !== 0)
    .filter(({ destination, mask }) => {
      const shared = (mask & SUBNET_MASK) >>> 0
      return (destination & shared) >>> 0 === (network & shared) >>> 0
    })
    .map(({ interfaceName }) => ({
      code: 'subnet_in_use',
      evidence: `the host routes a part of ${subnet} to ${interfaceName}`,
      remedy: 'Set another /16 for boxes: BOXYARD_SUBNET.',
    }))
}

function connectionProblems(): NetworkProblem[] {
  const connections = trackedConnections()
  if (!connections || connections.count < CONNECTIONS_SHARE * connections.max) return []
  return [
    {
      code: 'connections_used_up',
      evidence: `the host tracks ${connections.count} connections, and the limit is ${connections.max}`,
      remedy: 'Raise net.netfilter.nf_conntrack_max with sysctl, save it in /etc/sysctl.d, and restart this service.',
    },
  ]
}

function neighbourProblems(): NetworkProblem[] {
  const { entries, most } = neighbourTable('ipv4')
  if (entries < NEIGHBOURS_SHARE * most) return []
  return [
    {
      code: 'neighbours_used_up',
      evidence: `the ARP table of the host has ${entries} entries, and the limit is ${most}. New neighbours become unreachable, including the gateway`,
      remedy:
        'Raise net.ipv4.neigh.default.gc_thresh2 and gc_thresh3 with sysctl, and save them in /etc/sysctl.d. Then find what uses the entries, such as boxes with nesting or networks of other programs.',
    },
  ]
}

const FORWARDING_OFF: NetworkProblem = {
  code: 'forwarding_off',
  evidence: '/proc/sys/net/ipv4/ip_forward is 0',
  remedy: 'Run `sysctl -w net.ipv4.ip_forward=1`, and save it in /etc/sysctl.d.',
}
const NAMES_OUR_INTERFACES = /\bbx(\d+-)?[*+]/
const SUBNET_MASK = 0xffff_0000
const CONNECTIONS_SHARE = 0.8
const NEIGHBOURS_SHARE = 0.8
const LEGACY_TIMEOUT_MS = 5_000

const CHAIN = z.object({
  family: z.string(),
  table: z.string(),
  name: z.string(),
  hook: z.string().optional(),
  policy: z.string().optional(),
})
const CHAINS = z.object({ nftables: z.array(z.object({ chain: CHAIN.optional() })) })
