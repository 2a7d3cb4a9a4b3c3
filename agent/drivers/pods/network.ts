import { mkdirSync, rmSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { HostNetwork, NetworkMember, NetworkProblem } from '../../ports/boxes/network.ts'
import { createHostsFiles, type HostsFiles } from '../network/files.ts'
import { createFilterTable, type FilterTable } from '../network/filter-table.ts'
import { type NetworkMaintenance, openNetworkMaintenance } from '../network/maintenance.ts'
import { findNetworkProblems } from '../network/problems.ts'
import { findOpenBridge, OPEN_BRIDGE_REMEDY } from './net-bridge.ts'
import { disableIpv6 } from './net-ipv6.ts'
import { createPodRules, type PodBox, podTableName } from './rules.ts'

/** A box that is a pod of this node. */
export interface PodMember extends NetworkMember {
  /** The pod's IPv4 address. */
  address: string
  /** Path of the pod's network namespace. If given, IPv6 is taken from the pod: the rules are about IPv4. */
  networkNamespace?: string
}

/** Files of the host to mount read-only into a box, on /etc/hosts and /etc/resolv.conf; both are kept up to date in place. */
export interface PodFiles {
  hostsFile: string
  resolvFile: string
}

/**
 * The network of boxes that are pods of this node. The cluster gives addresses and carries packets; this decides which
 * may pass, with the promises of `Network`, and besides: no other pod reaches a box. Runs as root.
 */
export interface PodNetwork extends HostNetwork {
  /** Loads the rules. Boxes that an earlier process let in stay in until they leave or `retain` does not name them. */
  open(): Promise<void>
  /**
   * Lets a box into its project, by address and by name, before its first process runs; or takes up one that runs since
   * before this process. Idempotent; a new address replaces the old one.
   * @throws ServiceError `runtime_unavailable` where nothing would keep the box apart; it is not let in then
   */
  admit(member: PodMember): PodFiles
  /** Takes a box out of its project. Its processes are gone. Unknown: a success. */
  leave(boxId: string): void
  /** Takes out all other boxes: those that ended while no process of ours looked. */
  retain(boxIds: readonly string[]): void
}

export interface PodNetworkSettings {
  /** Names this instance among those of the host, for good; letters, digits and `_`. */
  instanceId: string
  /** Directory for the files mounted into boxes; boxes' users may pass through it. */
  runDir: string
  /** Whether boxes reach the outside. */
  egress: boolean
  /** Whether boxes reach private ranges outside, such as those of the cluster's pods and services. */
  allowPrivate: boolean
  /** Nameservers for boxes where the host's own are out of their reach. */
  dns: readonly string[]
  logger: Logger
}

/** Makes the network of an instance's pods; `open` touches the host. */
export function createPodNetwork(settings: PodNetworkSettings): PodNetwork {
  if (!/^\w{1,64}$/.test(settings.instanceId)) throw new ServiceError('internal', 'The instance id is no table name.')
  return new NftPodNetwork(settings)
}

interface Parts {
  filter: FilterTable<PodBox>
  hosts: HostsFiles
  maintenance: NetworkMaintenance
}

class NftPodNetwork implements PodNetwork {
  readonly #settings: PodNetworkSettings
  /** The box that each address is let through for. */
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
    this.#parts = { filter, hosts, maintenance }
    maintenance.start(filter)
  }

  admit({ boxId, project, name, address, networkNamespace }: PodMember): PodFiles {
    const parts = this.#opened()
    if (!isIPv4(address) || !/^[\w.-]{1,100}$/.test(boxId)) {
      throw new ServiceError('internal', 'The box or its address cannot be named in a rule.')
    }
    // Whoever had the address before is gone, or the cluster would not have given it away.
    this.#remove(parts, (owner, owned) => (owner === boxId) !== (owned === address))
    const bridge = findOpenBridge(address)
    if (bridge !== null) {
      throw new ServiceError('runtime_unavailable', `Pods on ${bridge} cannot be kept apart: ${OPEN_BRIDGE_REMEDY}`)
    }
    if (networkNamespace !== undefined) disableIpv6(networkNamespace)
    try {
      const hostsFile = parts.hosts.add(project, { name, address })
      // What is left under this address is this box's own.
      parts.filter.add({ boxId, address }, { project, isAdopted: true })
      this.#owners.set(address, boxId)
      return { hostsFile, resolvFile: this.#resolvFile() }
    } catch (error) {
      parts.hosts.remove(address)
      this.#owners.delete(address)
      throw error
    }
  }

  leave(boxId: string): void {
    this.#remove(this.#opened(), (owner) => owner === boxId)
  }

  retain(boxIds: readonly string[]): void {
    const kept = new Set(boxIds)
    this.#remove(this.#opened(), (owner) => !kept.has(owner))
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
    return [...removed, ...this.#bridgeProblems(), ...found.filter(({ code }) => !CLUSTERS_OWN.includes(code))]
  }

  async close({ release }: { release: boolean }): Promise<void> {
    const parts = this.#parts
    if (!parts) return
    this.#parts = null
    parts.maintenance.close()
    parts.filter.close({ release })
    this.#owners.clear()
    if (!release) return
    for (const part of ['hosts', 'resolv.conf']) {
      rmSync(`${this.#settings.runDir}/${part}`, { recursive: true, force: true })
    }
  }

  #opened(): Parts {
    if (!this.#parts) throw new ServiceError('runtime_unavailable', 'The network is not open.')
    return this.#parts
  }

  #resolvFile(): string {
    return `${this.#settings.runDir}/resolv.conf`
  }

  #remove({ filter, hosts }: Parts, isGone: (owner: string, address: string) => boolean): void {
    for (const [address, owner] of [...this.#owners]) {
      if (!isGone(owner, address)) continue
      filter.remove(address)
      hosts.remove(address)
      this.#owners.delete(address)
    }
  }

  #bridgeProblems(): NetworkProblem[] {
    const bridges = new Set([...this.#owners.keys()].flatMap((address) => findOpenBridge(address) ?? []))
    return [...bridges].map((bridge) => ({
      code: 'bridge_unfiltered',
      evidence: `pods on ${bridge} reach each other past the packet filter: bridge-nf-call-iptables is not 1`,
      remedy: OPEN_BRIDGE_REMEDY,
    }))
  }
}

/** Nobody has routes in it. */
const NO_SUBNET = '0.0.0.0/16'
/** Whether a chain of others that drops by policy lets pods pass is between them and the cluster's network plugin. */
const CLUSTERS_OWN = ['forward_dropped', 'subnet_in_use']
