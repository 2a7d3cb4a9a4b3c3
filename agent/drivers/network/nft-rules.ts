import * as z from 'zod'
import {
  BETWEEN_CHAIN,
  type BoxMarks,
  defineSet,
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
import { instanceAddresses, interfacePrefix, NAME_SERVER, SLOTS_MAX, serverPrefix } from './slots.ts'

/** A box's entry in the packet filter. */
export interface FilterEntry extends BoxMarks {
  interfaceName: string
  address: string
  /** Address of its project's name server. Null or absent for that server itself. */
  nameServer?: string | null
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
 * Returns the limit of connections per box for a host with `connectionsMax` conntrack entries. The limit is 1/256 of them, at least 256 and
 * at most 4096. So it takes 256 boxes to exhaust the host (fewer if it has less than 65536).
 */
export function flowsPerBox(connectionsMax: number): number {
  return Math.min(FLOWS_MAX, Math.max(FLOWS_MIN, Math.floor(connectionsMax / BOXES_TO_FILL)))
}

/** Returns the name of an instance's table in family `inet`. */
export function tableName(instance: number): string {
  return `boxyard_${instance}`
}

/**
 * Builds the commands that replace an instance's whole table as one transaction. Packets pass between boxes only through the sets, in both
 * directions. The rules check source addresses before connection tracking.
 */
export function rulesetCommands(request: RulesetRequest): string {
  const { entries, resolvers, allowPrivate } = request
  const slots = { head: 'set slots { type ifname . ipv4_addr;', elements: entries.map(slotElement) }
  const names = Object.entries(NAME_SETS).map(([set, head]) =>
    defineSet({ head, elements: entries.flatMap((entry) => nameElements(entry)[set as NameSet] ?? []) }),
  )
  const sets = [...setDefinitions(slots, entries, { resolvers, allowPrivate, boxesMax: SLOTS_MAX }), ...names]
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

/** Parses the boxes of a table from nft's JSON listing. Leaves out incomplete entries. */
export function parseEntries(listing: string): FilterEntry[] {
  const table = readTable(listing)
  const servers = new Map(
    table.elements('name_server_of').flatMap((element) => {
      const pair = PAIR.safeParse(element).data
      return pair ? [pair] : []
    }),
  )
  return table.elements('slots').flatMap((element) => {
    const [interfaceName = '', address = ''] = SLOT.safeParse(element).data?.concat ?? []
    const [marks, nameServer] = [table.marksOf(address), servers.get(address)]
    return marks ? [{ interfaceName, address, ...(nameServer === undefined ? {} : { nameServer }), ...marks }] : []
  })
}

function elementsOf(entry: FilterEntry): Record<string, string> {
  return { slots: slotElement(entry), ...markElements(entry), ...rateElements(entry), ...nameElements(entry) }
}

/** Returns the elements of a box by which it queries its name server, by set. */
function nameElements({ address, nameServer = null }: FilterEntry): Partial<Record<NameSet, string>> {
  if (nameServer === null) return {}
  const rate = `limit rate over ${QUERIES_PER_SECOND}/second burst ${QUERIES_BURST} packets`
  return {
    name_server_of: `${address} : ${nameServer}`,
    name_answers: `${nameServer} . ${address}`,
    name_queries: `${address} ${rate}`,
  }
}

function slotElement({ interfaceName, address }: FilterEntry): string {
  return `"${interfaceName}" . ${address}`
}

function hostChains({ instance, subnet }: RulesetRequest): string[] {
  const ours = `"${interfacePrefix(instance)}*"`
  const addresses = instanceAddresses(subnet, instance).map(({ first, last }) => `${first}-${last}`)
  return [
    'chain prerouting { type filter hook prerouting priority raw; policy accept;',
    `iifname ${ours} jump source`,
    `iifname ${ours} ip daddr ${NAME_SERVER} ${DNS} th dport 53 goto name_query`,
    // Without connection tracking a flood of queries takes no entries, and queries reach a new server at once.
    `iifname "${serverPrefix(instance)}*" ${DNS} th sport 53 notrack`,
    '}',
    'chain name_query {',
    'ip saddr @name_queries drop',
    'ip daddr set ip saddr map @name_server_of notrack accept',
    // Also drops while there is no server. A client that gets a rejection gives up, but one without an answer asks again.
    'drop',
    '}',
    'chain name_answer { type filter hook postrouting priority raw + 1; policy accept;',
    `oifname ${ours} ip saddr . ip daddr @name_answers ${DNS} th sport 53 ip saddr set ${NAME_SERVER}`,
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
    `ip saddr { ${addresses.join(', ')} } oifname != "bx*" masquerade`,
    '}',
  ]
}

function boxChains({ instance, subnet, egress, flowsPerBox }: RulesetRequest): string[] {
  const ours = `"${interfacePrefix(instance)}*"`
  const servers = `"${serverPrefix(instance)}*"`
  return [
    'chain forward { type filter hook forward priority filter; policy accept;',
    // Servers answer, and query the resolvers. The range of their ports limits their connections.
    `iifname ${servers} oifname ${ours} th sport != 53 goto refuse`,
    `iifname ${servers} oifname != ${ours} ip daddr != @resolvers goto refuse`,
    `iifname ${servers} oifname != ${ours} th dport != 53 goto refuse`,
    `iifname ${ours} iifname != ${servers} ${flowLimit(flowsPerBox)}`,
    // Queries use the address in each box, which limits their rate. Only those are untracked.
    `iifname ${ours} oifname ${servers} ct state != untracked goto refuse`,
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

type NameSet = keyof typeof NAME_SETS

// The rate in the definition makes a set hold rates of that kind. Each element has its own.
const NAME_SETS = {
  name_server_of: 'map name_server_of { type ipv4_addr : ipv4_addr;',
  name_answers: 'set name_answers { type ipv4_addr . ipv4_addr;',
  name_queries: 'set name_queries { type ipv4_addr; limit rate over 1/second;',
} as const
const DNS = 'meta l4proto { tcp, udp }'
/** Limit of one box. 500 took about 5 % of a CPU. */
const QUERIES_PER_SECOND = 500
const QUERIES_BURST = 500

const FLOWS_MIN = 256
const FLOWS_MAX = 4_096
const BOXES_TO_FILL = 256

const PAIR = z.tuple([z.string(), z.string()])
const SLOT = z.object({ concat: z.tuple([z.string(), z.string()]) })
