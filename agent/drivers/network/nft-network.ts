import { mkdirSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { Network, NetworkMember, NetworkProblem, NetworkSlot } from '../../ports/boxes/network.ts'
import { claimInstance, HOST_CLAIMS_DIR, releaseInstance } from './claim.ts'
import { createHostsFiles, type HostsFiles } from './files.ts'
import {
  assertSubnetIsFree,
  enableForwarding,
  hasInterfaces,
  inhabitedSlots,
  outboundMtu,
  slotInterfaces,
} from './host.ts'
import { type NetworkMaintenance, openNetworkMaintenance } from './maintenance.ts'
import { findNameServers, hostsDirectory, nameServerFiles, upstreamFile } from './name-server-process.ts'
import { NameServers } from './name-servers.ts'
import { tableName } from './nft-rules.ts'
import { createPacketFilter, type PacketFilter } from './packet-filter.ts'
import { findNetworkProblems } from './problems.ts'
import { createSlotFactory, type PreparedSlot, type SlotFactory } from './slot-factory.ts'
import { createSlotPool, type SlotPool } from './slot-pool.ts'
import { isSlotSubnet, NAME_SERVER, planServer, planSlot, SLOTS_MAX, slotOfInterface } from './slots.ts'

export interface NftNetworkSettings {
  /** Permanent id of this instance on the host. */
  instanceId: string
  /** Data directory of the instance. A claim whose directory is gone is stale. */
  dataDir: string
  /** Directory for the files mounted into boxes. The users of boxes must be able to search it. */
  runDir: string
  /** The /16 of the boxes' addresses, such as `10.213.0.0/16`. */
  subnet: string
  /** True if boxes may reach the outside. */
  egress: boolean
  /** True if boxes may reach private ranges outside. */
  allowPrivate: boolean
  /** Nameservers for boxes that cannot reach the host's own. */
  dns: readonly string[]
  /** Minimum number of slots kept ready. */
  spareMin: number
  logger: Logger
}

/**
 * Creates a network of boxes by routing only, without a bridge. A veth pair joins each box to the host, and one nft table decides which
 * packets pass between them. Runs in a private mount namespace, as root.
 */
export function createNftNetwork(settings: NftNetworkSettings): Network {
  if (!isSlotSubnet(settings.subnet)) {
    throw new ServiceError('runtime_unavailable', `The subnet of boxes must be an IPv4 /16, not ${settings.subnet}.`)
  }
  return new NftNetwork(settings)
}

interface Parts {
  instance: number
  filter: PacketFilter
  factory: SlotFactory
  pool: SlotPool<PreparedSlot>
  hosts: HostsFiles
  names: NameServers
  maintenance: NetworkMaintenance
}

interface Admission {
  member: NetworkMember
  slot: PreparedSlot
  isAdopted: boolean
}

interface Membership {
  member: NetworkMember
  slot: PreparedSlot
  hostsFile: string
}

class NftNetwork implements Network {
  readonly #settings: NftNetworkSettings
  readonly #memberships = new Map<string, Promise<Membership>>()
  /** Slots of boxes of an earlier process that this one has not adopted yet. */
  readonly #unadopted = new Set<number>()
  #parts: Parts | null = null

  constructor(settings: NftNetworkSettings) {
    this.#settings = settings
  }

  async open(): Promise<void> {
    const { instanceId, dataDir, runDir, subnet, egress, allowPrivate, dns, logger } = this.#settings
    assertSubnetIsFree(subnet)
    mkdirSync(runDir, { recursive: true, mode: 0o711 })
    const factory = createSlotFactory({ mtu: outboundMtu(), logger })
    const instance = await claimInstance(HOST_CLAIMS_DIR, { instanceId, dataDir })
    const table = tableName(instance)
    const files = nameServerFiles(runDir, egress)
    const server = { address: NAME_SERVER, upstreamFile: upstreamFile(runDir) }
    const maintenance = openNetworkMaintenance({ resolvFile: this.#resolvFile(), server, dns, table, logger })
    const resolvers = maintenance.nameservers()
    const filter = createPacketFilter({ rules: { instance, subnet, egress, allowPrivate, resolvers }, logger })
    const pool = this.#createPool(factory, instance)
    const first = this.#reserveRunning(instance, pool)
    const found = findNameServers(files.directory, instance)
    const servers = found.map(({ number }) => planServer(subnet, instance, number).interfaceName)
    filter.open((name) => servers.includes(name) || this.#unadopted.has(slotOfInterface(instance, name) ?? SLOTS_MAX))
    const live = new Set([...this.#unadopted].map((index) => planSlot(subnet, instance, index).address))
    const hosts = createHostsFiles(hostsDirectory(runDir), (one) => live.has(one))
    const names = new NameServers({ files, factory, filter, instance, subnet, logger })
    const parts: Parts = { instance, filter, factory, pool, hosts, names, maintenance }
    enableForwarding()
    names.adopt(found, (project) => hosts.addressesOf(project))
    this.#parts = parts
    parts.pool.beginAt(first)
    const setResolvers = (nameservers: readonly string[]): void => {
      filter.setResolvers(nameservers)
      names.reload()
    }
    maintenance.start({ heal: () => filter.heal(), setResolvers }, () => this.#releaseEnded(parts))
  }

  warmUp(): void {
    this.#parts?.pool.start()
  }

  async join(member: NetworkMember): Promise<NetworkSlot> {
    const parts = this.#opened()
    return this.#shareMembership(member, async () =>
      this.#admit(parts, { member, slot: await parts.pool.take(member.project), isAdopted: false }),
    )
  }

  async adopt(member: NetworkMember, slotIndex: number, pid: number): Promise<NetworkSlot> {
    const parts = this.#opened()
    return this.#shareMembership(member, async () => {
      if (!this.#unadopted.has(slotIndex)) throw new ServiceError('internal', 'No box was left running in this slot.')
      const slot = await parts.factory.adopt(planSlot(this.#settings.subnet, parts.instance, slotIndex), pid)
      const membership = this.#admit(parts, { member, slot, isAdopted: true })
      this.#unadopted.delete(slotIndex)
      return membership
    })
  }

  async leave(boxId: string): Promise<void> {
    const parts = this.#opened()
    const membership = await this.#memberships.get(boxId)?.catch(() => undefined)
    if (!membership || !this.#memberships.has(boxId)) return
    const { member, slot } = membership
    parts.filter.remove(slot.address)
    this.#memberships.delete(boxId)
    parts.hosts.remove(slot.address)
    parts.names.leave(slot.address)
    if (member.nesting === true) parts.pool.discard(slot)
    else parts.pool.give(slot, member.project)
  }

  async namesReady(boxId: string): Promise<void> {
    const membership = await this.#memberships.get(boxId)?.catch(() => undefined)
    if (membership) await this.#parts?.names.ready(membership.member.project)
  }

  async limit(boxId: string, mbps: number | null): Promise<void> {
    const membership = await this.#memberships.get(boxId)?.catch(() => undefined)
    if (!membership || !this.#memberships.has(boxId)) return
    this.#opened().filter.limit(membership.slot.address, mbps)
  }

  async addressOf(boxId: string): Promise<string | null> {
    return (await this.#memberships.get(boxId)?.catch(() => undefined))?.slot.address ?? null
  }

  async problems(): Promise<NetworkProblem[]> {
    const { maintenance, names } = this.#opened()
    const { subnet, egress } = this.#settings
    const own = [...maintenance.check(), ...names.problems()]
    return [...own, ...(await findNetworkProblems({ subnet, egress, nameservers: maintenance.nameservers() }))]
  }

  async close({ release }: { release: boolean }): Promise<void> {
    const parts = this.#parts
    if (!parts) return
    this.#parts = null
    parts.maintenance.close()
    await parts.pool.stop()
    await Promise.allSettled(this.#memberships.values())
    await parts.names.close({ release })
    if (release) await this.#removeEverything(parts)
    parts.filter.close({ release })
    parts.factory.close()
    if (release) await releaseInstance(HOST_CLAIMS_DIR, parts.instance, this.#settings.instanceId)
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

  #createPool(factory: SlotFactory, instance: number): SlotPool<PreparedSlot> {
    const { subnet, spareMin, logger } = this.#settings
    return createSlotPool<PreparedSlot>({
      create: (indexes) => factory.create(indexes.map((index) => planSlot(subnet, instance, index))),
      destroy: (slot) => factory.destroy(slot),
      spareMin,
      spareMax: Math.max(spareMin, SPARE_MAX),
      logger,
    })
  }

  /** Reserves the slots of boxes that an earlier process left running. Returns the first number above all existing ones. */
  #reserveRunning(instance: number, pool: SlotPool<PreparedSlot>): number {
    for (const index of inhabitedSlots(instance)) {
      pool.reserve(index)
      this.#unadopted.add(index)
    }
    return Math.max(0, ...[...slotInterfaces(instance), ...this.#unadopted].map((index) => index + 1))
  }

  /** Serializes concurrent calls for one box, so that they share one membership. Drops a failed one. */
  async #shareMembership(member: NetworkMember, work: () => Promise<Membership>): Promise<NetworkSlot> {
    let pending = this.#memberships.get(member.boxId)
    if (!pending) {
      pending = work()
      this.#memberships.set(member.boxId, pending)
    }
    try {
      return this.#describe(await pending)
    } catch (error) {
      if (this.#memberships.get(member.boxId) === pending) this.#memberships.delete(member.boxId)
      throw error
    }
  }

  #admit(parts: Parts, { member, slot, isAdopted }: Admission): Membership {
    const { project, name } = member
    const { interfaceName, address } = slot
    try {
      const hostsFile = parts.hosts.add(project, { name, address })
      const nameServer = parts.names.join(project, address)
      parts.filter.add({ project, interfaceName, address, mbps: member.mbps ?? null, nameServer }, isAdopted)
      parts.names.update(project)
      return { member, slot, hostsFile }
    } catch (error) {
      parts.hosts.remove(address)
      parts.names.leave(address)
      if (!isAdopted) parts.pool.give(slot, project)
      throw error
    }
  }

  #describe({ slot, hostsFile }: Membership): NetworkSlot {
    const { index, userNamespace, networkNamespace, idBase, address } = slot
    return { index, userNamespace, networkNamespace, idBase, address, hostsFile, resolvFile: this.#resolvFile() }
  }

  /** Frees the slots of boxes that ended before an agent adopted them. */
  #releaseEnded({ instance, pool, filter, hosts, names }: Parts): void {
    if (this.#unadopted.size === 0) return
    const { subnet } = this.#settings
    const inhabited = inhabitedSlots(instance)
    for (const index of [...this.#unadopted]) {
      if (inhabited.has(index) || !this.#unadopted.delete(index)) continue
      const { address } = planSlot(subnet, instance, index)
      filter.remove(address)
      hosts.remove(address)
      names.leave(address)
      pool.free(index)
    }
  }

  async #removeEverything({ instance, factory }: Parts): Promise<void> {
    const { runDir, subnet } = this.#settings
    factory.destroyAll()
    for (let waitedMs = 0; hasInterfaces(instance) && waitedMs < VANISH_MS; waitedMs += VANISH_STEP_MS) {
      await sleep(VANISH_STEP_MS)
    }
    await factory.disconnect(slotInterfaces(instance).map((index) => planSlot(subnet, instance, index)))
    this.#memberships.clear()
    for (const part of ['hosts', 'names', 'resolv.conf', 'resolvers'])
      rmSync(`${runDir}/${part}`, { recursive: true, force: true })
  }
}

const VANISH_MS = 3_000
const VANISH_STEP_MS = 10
/** Slots kept after a burst. Each costs a little kernel memory and saves the next box some milliseconds. */
const SPARE_MAX = 64
