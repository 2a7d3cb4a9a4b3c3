import * as z from 'zod'
import {
  BETWEEN_CHAIN,
  type BoxMarks,
  elementCommands,
  flowLimit,
  HOST_CHAINS,
  markElements,
  OUTWARD_CHAINS,
  outwardRules,
  rateChains,
  rateElements,
  readTable,
  setDefinitions,
  type TableLoad,
  tableCommands,
} from './nft-table.ts'
import { instanceAddresses, interfacePrefix, SLOTS_MAX } from './slots.ts'

/** A box's entry in the packet filter. */
export interface FilterEntry extends BoxMarks {
  interfaceName: string
  address: string
}

export interface RulesetRequest extends TableLoad {
  /** Instance number. */
  instance: number
  subnet: string
  egress: boolean
  allowPrivate: boolean
  entries: readonly FilterEntry[]
}

/**
 * Returns the limit of connections per box for a host with `connectionsMax` conntrack entries: 1/256 of them, at least 256 and at
 * most 4096, so that it takes 256 boxes to exhaust the host (fewer if it has less than 65536).
 */
export function flowsPerBox(connectionsMax: number): number {
  return Math.min(FLOWS_MAX, Math.max(FLOWS_MIN, Math.floor(connectionsMax / BOXES_TO_FILL)))
}

/** Returns the name of an instance's table in family `inet`. */
export function tableName(instance: number): string {
  return `boxyard_${instance}`
}

/**
 * Builds the commands that replace an instance's whole table as one transaction. Packets pass between boxes only through the sets,
 * in both directions; source addresses are checked before connection tracking.
 */
export function rulesetCommands(request: RulesetRequest): string {
  const { entries, resolvers, allowPrivate } = request
  const slots = { head: 'set slots { type ifname . ipv4_addr;', elements: entries.map(slotElement) }
  const sets = setDefinitions(slots, entries, { resolvers, allowPrivate, boxesMax: SLOTS_MAX })
  return tableCommands(tableName(request.instance), [...sets, ...hostChains(request), ...boxChains(request)])
}

/** Builds the commands that admit a box to its project. */
export function addCommands(instance: number, entry: FilterEntry): string {
  return elementCommands('add', tableName(instance), elementsOf(entry))
}

/** Builds the commands that undo `addCommands`. */
export function removeCommands(instance: number, entry: FilterEntry): string {
  return elementCommands('delete', tableName(instance), elementsOf(entry))
}

/** Parses the boxes of a table from nft's JSON listing; leaves out incomplete entries. */
export function parseEntries(listing: string): FilterEntry[] {
  const table = readTable(listing)
  return table.elements('slots').flatMap((element) => {
    const [interfaceName = '', address = ''] = SLOT.safeParse(element).data?.concat ?? []
    const marks = table.marksOf(address)
    return marks ? [{ interfaceName, address, ...marks }] : []
  })
}

function elementsOf(entry: FilterEntry): Record<string, string> {
  return { slots: slotElement(entry), ...markElements(entry), ...rateElements(entry) }
}

function slotElement({ interfaceName, address }: FilterEntry): string {
  return `"${interfaceName}" . ${address}`
}

function hostChains({ instance, subnet }: RulesetRequest): string[] {
  const ours = `"${interfacePrefix(instance)}*"`
  const { first, last } = instanceAddresses(subnet, instance)
  return [
    'chain prerouting { type filter hook prerouting priority raw; policy accept;',
    `iifname ${ours} jump source`,
    '}',
    'chain source {',
    'iifname . ip saddr @slots return',
    'drop',
    '}',
    ...rateChains(`iifname ${ours} `, `oifname ${ours} `),
    'chain input { type filter hook input priority filter; policy accept;',
    `iifname ${ours} jump to_host`,
    '}',
    ...HOST_CHAINS,
    'chain postrouting { type nat hook postrouting priority srcnat; policy accept;',
    `ip saddr ${first}-${last} oifname != "bx*" masquerade`,
    '}',
  ]
}

function boxChains({ instance, subnet, egress, flowsPerBox }: RulesetRequest): string[] {
  const ours = `"${interfacePrefix(instance)}*"`
  return [
    'chain forward { type filter hook forward priority filter; policy accept;',
    `iifname ${ours} ${flowLimit(flowsPerBox)}`,
    `iifname ${ours} oifname ${ours} goto between_boxes`,
    `iifname ${ours} goto from_box`,
    `oifname ${ours} goto to_box`,
    '}',
    ...BETWEEN_CHAIN,
    'chain from_box {',
    'oifname "bx*" goto refuse',
    `ip daddr ${subnet} goto refuse`,
    ...outwardRules(egress, 'ip daddr @resolvers meta l4proto { tcp, udp } th dport 53'),
    '}',
    ...OUTWARD_CHAINS,
  ]
}

const FLOWS_MIN = 256
const FLOWS_MAX = 4_096
const BOXES_TO_FILL = 256

const SLOT = z.object({ concat: z.tuple([z.string(), z.string()]) })
