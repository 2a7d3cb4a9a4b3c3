import * as z from 'zod'
import type { TableText } from '../network/filter-table.ts'
import {
  type AddressedBox,
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
  tableCommands,
} from '../network/nft-table.ts'

/** A box that is a pod. The table keeps its id, so that a later process knows the box of an address. */
export interface PodBox extends AddressedBox {
  boxId: string
}

export interface PodRulesSettings {
  instanceId: string
  /** If true, boxes reach the outside. */
  egress: boolean
  /** If true, boxes reach private ranges, including the cluster's pods and services. */
  allowPrivate: boolean
}

/** Returns the name of the table of an instance's pods, in family `inet`. */
export function podTableName(instanceId: string): string {
  return `boxyard_pods_${instanceId}`
}

/**
 * Builds the table of an instance whose boxes are pods. Matches boxes by address, since interfaces depend on the cluster's network plugin.
 * Drops packets whose source address is not routed back through their interface.
 */
export function createPodRules(settings: PodRulesSettings): TableText<PodBox> {
  const { instanceId, allowPrivate } = settings
  const name = podTableName(instanceId)
  return {
    name,
    load: (entries, { resolvers, flowsPerBox }) => {
      const boxes = { head: 'set boxes { type ipv4_addr;', elements: entries.map(boxElement) }
      const sets = setDefinitions(boxes, entries, { resolvers, allowPrivate, boxesMax: BOXES_MAX })
      return tableCommands(name, [...sets, ...hostChains(), ...boxChains(settings, flowsPerBox)])
    },
    add: (entry) => elementCommands('add', name, elementsOf(entry)),
    remove: (entry) => elementCommands('delete', name, elementsOf(entry)),
    parse: parsePodEntries,
  }
}

/** Lists the boxes that a table, as JSON of nft, admits. Leaves out incomplete ones. */
function parsePodEntries(listing: string): (PodBox & BoxMarks)[] {
  const table = readTable(listing)
  return table.elements('boxes').flatMap((element) => {
    const { val: address = '', comment: boxId = '' } = BOX.safeParse(element).data?.elem ?? {}
    const marks = table.marksOf(address)
    return marks ? [{ boxId, address, ...marks }] : []
  })
}

function elementsOf(entry: PodBox & BoxMarks): Record<string, string> {
  return { boxes: boxElement(entry), ...markElements(entry), ...rateElements(entry) }
}

function boxElement({ boxId, address }: PodBox): string {
  return `${address} comment "${boxId}"`
}

function hostChains(): string[] {
  return [
    'chain prerouting { type filter hook prerouting priority raw; policy accept;',
    'ip saddr @boxes fib saddr . iif oif missing drop',
    '}',
    ...rateChains('', ''),
    'chain input { type filter hook input priority filter; policy accept;',
    'ip saddr @boxes jump to_host',
    '}',
    ...HOST_CHAINS,
  ]
}

function boxChains({ egress }: PodRulesSettings, flowsPerBox: number): string[] {
  return [
    'chain forward { type filter hook forward priority filter; policy accept;',
    `ip saddr @boxes ${flowLimit(flowsPerBox)}`,
    'ip saddr @boxes ip daddr @boxes goto between_boxes',
    'ip saddr @boxes goto from_box',
    'ip daddr @boxes goto to_box',
    '}',
    ...BETWEEN_CHAIN,
    'chain from_box {',
    // On a bridge, broadcasts and multicasts would reach the boxes of every project.
    'meta pkttype != unicast drop',
    // A resolver may be a service of the cluster. So match the original destination, which DNAT has replaced with a pod's.
    ...outwardRules(egress, 'meta l4proto { tcp, udp } ct original ip daddr @resolvers ct original proto-dst 53'),
    '}',
    ...OUTWARD_CHAINS,
  ]
}

/** More than the pods that a node can have. */
const BOXES_MAX = 1_024

const BOX = z.object({ elem: z.object({ val: z.string(), comment: z.string() }) })
