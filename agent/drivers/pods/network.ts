import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { inNetworkNamespace } from '../../lib/syscalls/netlink.ts'
import { ipv4Bytes } from '../../lib/syscalls/rtnetlink.ts'
import type { HostNetwork, NetworkMember, NetworkProblem, Resolvers } from '../../ports/boxes/network.ts'
import { createHostsFiles, type HostsFiles } from '../network/files.ts'
import { createFilterTable, type FilterTable } from '../network/filter-table.ts'
import { hostRoutes } from '../network/host.ts'
import { type NetworkMaintenance, openNetworkMaintenance } from '../network/maintenance.ts'
import { findNetworkProblems } from '../network/problems.ts'
import { BridgeGuard, findBridgePlace } from './bridge-guard.ts'
import { createPodRules, type PodBox, podTableName } from './rules.ts'

/** A box that runs as a pod on this node. */
export interface PodMember extends NetworkMember {
  /** The pod's IPv4 address. */
  address: string
  /** Path of the pod's network namespace. IPv6 is disabled in it, because the rules cover IPv4 only. */
  networkNamespace: string
}

/** Host files for a box, both updated in place: one to mount read-only on /etc/hosts, and one with its resolvers. */
export interface PodFiles {
  hostsFile: string
  resolvFile: string
}

/**
 * The network of boxes that are pods of this node. The cluster assigns addresses and carries packets. nft rules decide which may pass. They
 * give the guarantees of `Network`, and no other pod reaches a box. Runs as root.
 */
export interface PodNetwork extends HostNetwork, Resolvers {
  /** Loads the rules. Boxes admitted by an earlier process stay admitted until they leave or `retain` omits them. */
  open(): Promise<void>
  /**
   * Admits a box to its project by address and name, before its first process runs, or adopts one that is running. Idempotent. A new
   * address replaces the old one.
   * @throws ServiceError `runtime_unavailable` if the box could not be isolated, which is then not admitted
   */
  admit(member: PodMember): PodFiles
  /** As `Network.limit`. */
  limit(boxId: string, mbps: number | null): void
  /** Removes a box, whose processes are gone, from its project. Does nothing for an unknown box. */
  leave(boxId: string): void
  /** Removes all boxes except these, because the others ended while no agent ran. */
  retain(boxIds: readonly string[]): void
}

export interface PodNetworkSettings {
  /** Identifies this instance on the host, permanently. Contains letters, digits and `_`. */
  instanceId: string
  /** Directory for files mounted into boxes. Users of boxes must be able to search it. */
  runDir: string
  /** If true, boxes reach the outside. */
  egress: boolean
  /** If true, boxes reach private ranges outside, such as the ranges of the cluster's pods and services. */
  allowPrivate: boolean
  /** Nameservers for boxes, where they cannot reach the host's own. */
  dns: readonly string[]
  logger: Logger
}

/** Creates the network of an instance's pods. Changes nothing on the host before `open`. */
export function createPodNetwork(settings: PodNetworkSettings): PodNetwork {
  if (!/^\w{1,64}$/.test(settings.instanceId))
    throw new ServiceError('internal', 'The instance id is not a valid table name.')
  return new NftPodNetwork(settings)
}

interface Parts {
  guard: BridgeGuard
  filter: FilterTable<PodBox>
  hosts: HostsFiles
  maintenance: NetworkMaintenance
}

class NftPodNetwork implements PodNetwork {
  readonly #settings: PodNetworkSettings
  /** The box admitted for each address. */
  readonly #owners = new Map<string, string>()
  #parts: Parts | null = null

  constructor(settings: PodNetworkSettings) {
    this.#settings = settings
  }

  async open(): Promise<void> {
    const { instanceId, runDir, dns, logger } = this.#settings
    mkdirSync(runDir, { recursive: true, mode: 0o711 })
    const table = podTableName(instanceId)
    const maintenance = openNetworkMaintenance({ resolvFile: this.#resolvFile(), dns, table, logger })
    const resolvers = maintenance.nameservers()
    const filter = createFilterTable({ text: createPodRules(this.#settings), resolvers, logger })
    filter.open(({ address, boxId }) => Boolean(this.#owners.set(address, boxId)))
    const hosts = createHostsFiles(`${runDir}/hosts`, (address) => this.#owners.has(address))
    const guard = new BridgeGuard(table, logger)
    this.#parts = { filter, guard, hosts, maintenance }
    maintenance.start(filter, () => guard.heal())
  }

  admit({ boxId, project, name, address, networkNamespace, mbps = null }: PodMember): PodFiles {
    const parts = this.#opened()
    if (!isIPv4(address) || !/^[\w.-]{1,100}$/.test(boxId)) {
      throw new ServiceError('internal', 'The box or its address cannot be named in a rule.')
    }
    // The cluster has reassigned the address, so its earlier owner is gone.
    this.#remove(parts, (owner, owned) => (owner === boxId) !== (owned === address))
    const bridge = findBridge(address)
    if (bridge !== null && isOpen(bridge)) {
      throw new ServiceError('runtime_unavailable', `The agent cannot isolate pods on ${bridge}. ${OPEN_BRIDGE_REMEDY}`)
    }
    prepareNamespace(networkNamespace)
    try {
      if (bridge !== null) guardPlace(parts.guard, { address, bridge, networkNamespace })
      const hostsFile = parts.hosts.add(project, { name, address })
      // Entries that an earlier process left for this address are this box's.
      parts.filter.add({ boxId, address, mbps }, { project, isAdopted: true })
      this.#owners.set(address, boxId)
      return { hostsFile, resolvFile: this.#resolvFile() }
    } catch (error) {
      parts.hosts.remove(address)
      parts.guard.remove(address)
      this.#owners.delete(address)
      throw error
    }
  }

  limit(boxId: string, mbps: number | null): void {
    const { filter } = this.#opened()
    for (const [address, owner] of this.#owners) if (owner === boxId) filter.limit(address, mbps)
  }

  leave(boxId: string): void {
    this.#remove(this.#opened(), (owner) => owner === boxId)
  }

  retain(boxIds: readonly string[]): void {
    const kept = new Set(boxIds)
    const parts = this.#opened()
    this.#remove(parts, (owner) => !kept.has(owner))
    parts.guard.reload()
  }

  async addressOf(boxId: string): Promise<string | null> {
    for (const [address, owner] of this.#owners) if (owner === boxId) return address
    return null
  }

  async problems(): Promise<NetworkProblem[]> {
    const { maintenance } = this.#opened()
    const { egress } = this.#settings
    const removed = maintenance.check()
    const found = await findNetworkProblems({ subnet: NO_SUBNET, egress, nameservers: maintenance.nameservers() })
    return [...removed, ...this.#bridgeProblems(), ...found.filter(({ code }) => !IGNORED_PROBLEMS.includes(code))]
  }

  async close({ release }: { release: boolean }): Promise<void> {
    const parts = this.#parts
    if (!parts) return
    this.#parts = null
    parts.maintenance.close()
    parts.filter.close({ release })
    parts.guard.close({ release })
    this.#owners.clear()
    if (!release) return
    for (const part of ['hosts', 'resolv.conf']) {
      rmSync(`${this.#settings.runDir}/${part}`, { recursive: true, force: true })
    }
  }

  onResolvers(listener: (resolvConf: string) => void): void {
    this.#opened().maintenance.onResolvers(listener)
  }

  #opened(): Parts {
    if (!this.#parts) throw new ServiceError('runtime_unavailable', 'The network is not open.')
    return this.#parts
  }

  #resolvFile(): string {
    return `${this.#settings.runDir}/resolv.conf`
  }

  #remove({ filter, guard, hosts }: Parts, isGone: (owner: string, address: string) => boolean): void {
    for (const [address, owner] of [...this.#owners]) {
      if (!isGone(owner, address)) continue
      filter.remove(address)
      guard.remove(address)
      hosts.remove(address)
      this.#owners.delete(address)
    }
  }

  #bridgeProblems(): NetworkProblem[] {
    const bridges = new Set([...this.#owners.keys()].flatMap((address) => findBridge(address) ?? []))
    return [...bridges].filter(isOpen).map((bridge) => ({
      code: 'bridge_unfiltered',
      evidence: `pods on ${bridge} bypass the packet filter, because bridge-nf-call-iptables is not 1`,
      remedy: OPEN_BRIDGE_REMEDY,
    }))
  }
}

/** Returns the bridge by which the host reaches `address`, or null for another kind of interface. */
function findBridge(address: string): string | null {
  const name = interfaceTo(address)
  return name !== null && existsSync(`/sys/class/net/${name}/bridge`) ? name : null
}

/** Returns true if traffic between ports of the bridge bypasses the IPv4 rules, so that pods on it could reach each other. */
function isOpen(bridge: string): boolean {
  const switches = ['/proc/sys/net/bridge/bridge-nf-call-iptables', `/sys/class/net/${bridge}/bridge/nf_call_iptables`]
  return switches.every((path) => tryReadText(path).trim() !== '1')
}

/** Ties the address to the port of its pod, so that no other pod on the bridge can send under it. */
function guardPlace(
  guard: BridgeGuard,
  { address, bridge, networkNamespace }: { address: string; bridge: string; networkNamespace: string },
): void {
  try {
    const place = findBridgePlace(address, bridge, networkNamespace)
    if (place === null) throw new Error('no port of the bridge leads to it')
    guard.add(place)
  } catch (cause) {
    const detail = `The agent cannot distinguish pods on ${bridge}. ${UNGUARDED_REMEDY}`
    throw new ServiceError('runtime_unavailable', detail, { cause })
  }
}

/** The remedy for an open bridge. */
const OPEN_BRIDGE_REMEDY =
  'Run `modprobe br_netfilter; sysctl -w net.bridge.bridge-nf-call-iptables=1`, and ' +
  'save both in /etc/modules-load.d and /etc/sysctl.d, as on every node of a cluster.'

const UNGUARDED_REMEDY =
  'The kernel needs CONFIG_NF_TABLES_BRIDGE, and pods a veth whose other end is a port of that bridge.'

/** Finds the interface of the longest matching prefix, without the default route. */
function interfaceTo(address: string): string | null {
  const wanted = ipv4Bytes(address).readUInt32BE(0)
  const [best] = hostRoutes()
    .filter(({ destination, mask }) => mask !== 0 && (wanted & mask) >>> 0 === destination)
    .toSorted((one, other) => other.mask - one.mask)
  return best?.interfaceName ?? null
}

/**
 * Disables IPv6 on all interfaces of a pod's network but loopback, whose ::1 programs expect. By link-local addresses a box could
 * reach the node, and other boxes on its bridge, past the IPv4 rules.
 */
function prepareNamespace(networkNamespace: string): void {
  const namespace = openSync(networkNamespace, 'r')
  try {
    inNetworkNamespace(namespace, () => {
      for (const name of interfaceSettings()) writeFileSync(`${SETTINGS}/${name}/disable_ipv6`, '1')
      // Users of a box may listen at any port too, since the ports are the box's own.
      writeFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', '0')
    })
  } finally {
    closeSync(namespace)
  }
}

/** Lists the settings of present interfaces, and the default of future ones. */
function interfaceSettings(): string[] {
  try {
    return readdirSync(SETTINGS).filter((name) => name !== 'lo' && name !== 'all')
  } catch {
    // A kernel without IPv6.
    return []
  }
}

/** A subnet that overlaps no route. */
const NO_SUBNET = '0.0.0.0/16'
/** Problems of the cluster itself, whose network plugin handles other chains that drop forwarded packets. */
const IGNORED_PROBLEMS = ['forward_dropped', 'subnet_in_use']
const SETTINGS = '/proc/sys/net/ipv6/conf'
