import { closeSync, openSync, readdirSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../../../shared/log.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { inNetworkNamespace, listLinks } from '../../lib/syscalls/netlink.ts'
import { type Nftables, openNftables } from '../../lib/syscalls/nftables.ts'
import { defineSet } from '../network/nft-table.ts'

/** The place of a box on a bridge of the node. */
export interface BridgePlace {
  address: string
  /** Hardware address of its interface. */
  mac: string
  /** Name of the bridge's port that leads to it. */
  port: string
  /** IPv4 addresses of the bridge, to which its pods send outbound packets. */
  gateways: readonly string[]
}

/**
 * Ties boxes to their ports of a bridge. Pods on a bridge have CAP_NET_RAW unless their cluster forbids it. So any of them could otherwise
 * send under the address of a box, claim its hardware address, or pose as the gateway. The table exists only while a box is on a bridge.
 * Memory and kernel agree after each call that does not throw.
 */
export class BridgeGuard {
  readonly #table: string
  readonly #logger: Logger
  readonly #places = new Map<string, BridgePlace>()
  #nft: Nftables | null = null

  /** `table` is the name of the table in the family `bridge`. */
  constructor(table: string, logger: Logger) {
    this.#table = table
    this.#logger = logger
  }

  /** Removes the entries of an earlier process, except the boxes added since. */
  reload(): void {
    if (this.#places.size > 0 || this.#exists()) this.#load()
  }

  /** Ties the address of a box to a port. Throws if the packet filter does not accept it. */
  add(place: BridgePlace): void {
    const { address } = place
    const before = this.#places.get(address)
    if (isDeepStrictEqual(before, place)) return
    this.#places.set(address, place)
    try {
      const commands = [...(before ? elementsOf('delete', this.#table, before) : [])]
      this.#change([...commands, ...elementsOf('add', this.#table, place), ...this.#gatewayCommands(place)])
    } catch (error) {
      if (before === undefined) this.#places.delete(address)
      else this.#places.set(address, before)
      throw error
    }
  }

  /** Does nothing for an unknown address. */
  remove(address: string): void {
    const place = this.#places.get(address)
    if (place === undefined) return
    this.#places.delete(address)
    this.#change(elementsOf('delete', this.#table, place))
  }

  /** Reloads the table if another program has removed it. */
  heal(): void {
    if (this.#places.size === 0 || this.#exists()) return
    this.#logger.warn('another program removed the bridge guard, loaded it again')
    this.#load()
  }

  close({ release }: { release: boolean }): void {
    if (release && this.#exists()) this.#run(removal(this.#table))
    this.#nft?.close()
    this.#nft = null
  }

  // Falls back to loading the whole table, which is right whatever another program changed.
  #change(commands: readonly string[]): void {
    try {
      this.#run(commands.join('\n'))
    } catch {
      this.#load()
    }
  }

  #load(): void {
    this.#run(loadCommands(this.#table, [...this.#places.values()]))
  }

  #gatewayCommands({ gateways }: BridgePlace): string[] {
    return gateways.map((gateway) => `add element bridge ${this.#table} gateways { ${gateway} }`)
  }

  #exists(): boolean {
    return this.#run('list tables bridge').split('\n').includes(`table bridge ${this.#table}`)
  }

  #run(commands: string): string {
    this.#nft ??= openNftables()
    return this.#nft.run(commands)
  }
}

/** Builds the commands that replace the whole table as one transaction. Pure. */
function loadCommands(table: string, places: readonly BridgePlace[]): string {
  const sets = Object.entries(SETS).map(([name, type]) => {
    const elements = places.map((place) => ELEMENTS[name as TiedSet](place))
    return setOf(name, type, elements)
  })
  const gateways = [...new Set(places.flatMap((place) => place.gateways))]
  return [
    removal(table),
    `table bridge ${table} {`,
    ...sets,
    setOf('gateways', 'ipv4_addr', gateways),
    // Runs before the bridge learns where a hardware address is, and before the rules for IPv4.
    'chain prerouting { type filter hook prerouting priority -300; policy accept;',
    'ether saddr @macs iifname . ether saddr != @mac_ports drop',
    'ether type ip ip saddr @boxes iifname . ip saddr != @ports drop',
    'ether type arp arp saddr ip @boxes iifname . arp saddr ip != @ports drop',
    'ether type arp arp saddr ip @gateways drop',
    '}',
    '}',
  ].join('\n')
}

/**
 * Finds where a pod is on a bridge, from its network namespace. Returns null if no port of the bridge leads to it. Reads the namespace and
 * not the bridge's forwarding table, which other pods can write.
 */
export function findBridgePlace(address: string, bridge: string, networkNamespace: string): BridgePlace | null {
  const own = ownInterface(address, networkNamespace)
  if (own === null) return null
  const port = readdirSync(`/sys/class/net/${bridge}/brif`).find(
    (name) => Number(tryReadText(`/sys/class/net/${name}/ifindex`)) === own.peerIndex,
  )
  if (port === undefined) return null
  const gateways = (networkInterfaces()[bridge] ?? []).filter(({ family }) => family === 'IPv4')
  return { address, mac: own.mac, port, gateways: gateways.map((each) => each.address) }
}

function ownInterface(address: string, networkNamespace: string): { mac: string; peerIndex: number } | null {
  const namespace = openSync(networkNamespace, 'r')
  try {
    return inNetworkNamespace(namespace, () => {
      const interfaces = networkInterfaces()
      for (const { name, peerIndex } of listLinks()) {
        const mac = interfaces[name]?.find((each) => each.address === address)?.mac
        if (mac !== undefined && peerIndex !== null) return { mac, peerIndex }
      }
      return null
    })
  } finally {
    closeSync(namespace)
  }
}

function elementsOf(verb: 'add' | 'delete', table: string, place: BridgePlace): string[] {
  return Object.entries(ELEMENTS).map(
    ([set, element]) => `${verb} element bridge ${table} ${set} { ${element(place)} }`,
  )
}

function removal(table: string): string {
  return `add table bridge ${table}\ndelete table bridge ${table}`
}

function setOf(name: string, type: string, elements: readonly string[]): string {
  return defineSet({ head: `set ${name} { type ${type};`, elements })
}

type TiedSet = keyof typeof SETS

const SETS = {
  boxes: 'ipv4_addr',
  ports: 'ifname . ipv4_addr',
  macs: 'ether_addr',
  mac_ports: 'ifname . ether_addr',
} as const

const ELEMENTS: Record<TiedSet, (place: BridgePlace) => string> = {
  boxes: ({ address }) => address,
  ports: ({ address, port }) => `"${port}" . ${address}`,
  macs: ({ mac }) => mac,
  mac_ports: ({ mac, port }) => `"${port}" . ${mac}`,
}
