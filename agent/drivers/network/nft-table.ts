import * as z from 'zod'

/** A box of a table, by its address. Each table adds the fields that identify it. */
export interface AddressedBox {
  address: string
  /** Mbit/s that it may send, and as many that it may receive. Unlimited if null or absent. */
  mbps?: number | null
}

/** Marks of a box's entry, the same in all tables. */
export interface BoxMarks {
  /** Mark shared by the boxes of one project, 1 or more. */
  projectMark: number
  /** Random per box, 1 or more. Replies from outside to an earlier user of the address carry a different one. */
  epoch: number
}

/** Contents of a table besides its boxes. */
export interface TableLoad {
  /** Maximum conntrack entries per box. */
  flowsPerBox: number
  /** IPv4 addresses that boxes may query on port 53 even if they are private. */
  resolvers: readonly string[]
}

/** A set of a table: the start of its definition, and its elements. */
export interface FilledSet {
  head: string
  elements: readonly string[]
}

/** Builds the commands that replace a whole table of family `inet` as one transaction. */
export function tableCommands(name: string, lines: readonly string[]): string {
  const table = `inet ${name}`
  return [`add table ${table}`, `delete table ${table}`, `table ${table} {`, ...lines, '}', ''].join('\n')
}

/** Builds the commands that add or delete one element in each of several sets of a table. */
export function elementCommands(
  verb: 'add' | 'delete',
  table: string,
  elements: Readonly<Record<string, string>>,
): string {
  return Object.entries(elements)
    .map(([set, element]) => `${verb} element inet ${table} ${set} { ${element} }`)
    .join('\n')
}

/** Returns the elements of a box in the sets that every table has, by set. */
export function markElements({ address, projectMark, epoch }: AddressedBox & BoxMarks): Record<MarkSet, string> {
  return {
    project_of: `${address} : ${projectMark}`,
    members: `${address} . ${projectMark}`,
    epoch_of: `${address} : ${epoch}`,
    epochs: `${address} . ${epoch}`,
  }
}

/**
 * Returns the elements that limit the rate at which a box sends and receives, by set. Returns none without a limit. Each element carries
 * its own rate. The kernel counts a packet that matches the address in this rate, and the packet matches the set only beyond it.
 */
export function rateElements({ address, mbps = null }: AddressedBox): Partial<Record<RateSet, string>> {
  if (mbps === null) return {}
  const bytes = mbps * BYTES_PER_MBIT
  const packets = mbps * PACKETS_PER_MBIT
  const byteRate = `${address} limit rate over ${bytes} bytes/second burst ${burstOf(bytes, BURST_MIN_BYTES)} bytes`
  const packetRate = `${address} limit rate over ${packets}/second burst ${burstOf(packets, BURST_MIN_PACKETS)} packets`
  return { sent_bytes: byteRate, received_bytes: byteRate, sent_packets: packetRate, received_packets: packetRate }
}

/** Returns the rules that drop packets beyond the rates of boxes. `from` matches the packets of one direction, `to` of the other. */
export function rateChains(from: string, to: string): string[] {
  return [
    'chain sent { type filter hook prerouting priority raw + 1; policy accept;',
    `${from}ip saddr @sent_packets drop`,
    `${from}ip saddr @sent_bytes drop`,
    '}',
    'chain received { type filter hook postrouting priority raw; policy accept;',
    `${to}ip daddr @received_packets drop`,
    `${to}ip daddr @received_bytes drop`,
    '}',
  ]
}

function burstOf(rate: number, least: number): number {
  return Math.max(least, Math.min(BURST_MAX, Math.round(rate / BURSTS_PER_SECOND)))
}

/** Returns the definitions of `own` and of the sets that every table has. */
export function setDefinitions(
  own: FilledSet,
  boxes: readonly (AddressedBox & BoxMarks)[],
  { resolvers, allowPrivate, boxesMax }: Pick<TableLoad, 'resolvers'> & { allowPrivate: boolean; boxesMax: number },
): string[] {
  const elements = boxes.map(markElements)
  const rates = boxes.map(rateElements)
  const marks = Object.entries(MARK_SETS).map(([name, head]) => ({
    head,
    elements: elements.map((each) => each[name as MarkSet]),
  }))
  const blocked = allowPrivate ? NEVER_ROUTED : [...NEVER_ROUTED, ...PRIVATE_RANGES]
  return [
    ...[own, ...marks].map(defineSet),
    ...Object.entries(RATE_SETS).map(([name, head]) =>
      defineSet({ head, elements: rates.flatMap((each) => each[name as RateSet] ?? []) }),
    ),
    defineSet({ head: 'set blocked { type ipv4_addr; flags interval;', elements: blocked }),
    defineSet({ head: 'set resolvers { type ipv4_addr;', elements: resolvers }),
    `set flows { type ipv4_addr; flags dynamic; size ${2 * boxesMax}; }`,
  ]
}

/** The chains to_host, for packets to the host itself, and refuse, which rejects with an ICMP error. */
export const HOST_CHAINS: readonly string[] = [
  'chain to_host {',
  'ct state established,related ct direction reply accept',
  'goto refuse',
  '}',
  'chain refuse {',
  'meta nfproto ipv4 reject with icmp type admin-prohibited',
  'drop',
  '}',
]

/** Returns the rule that limits the connections of each box, since the whole host shares one conntrack table. */
export function flowLimit(flowsPerBox: number): string {
  return `ct state new add @flows { ip saddr ct count over ${flowsPerBox} } goto refuse`
}

/** The chain between_boxes, which accepts packets between boxes of one project only. */
export const BETWEEN_CHAIN: readonly string[] = [
  // One rule, so that the packet mark is set only for the lookup, and only on a packet between boxes.
  'chain between_boxes {',
  'meta mark set ip saddr map @project_of ip daddr . meta mark @members meta mark set 0 accept',
  'goto refuse',
  '}',
]

/** Returns the last rules of a chain for outbound packets of boxes. `asksResolver` matches their DNS queries to resolvers. */
export function outwardRules(egress: boolean, asksResolver: string): string[] {
  return [
    'ip daddr 169.254.0.0/16 goto refuse',
    ...(egress ? [`${asksResolver} goto egress`, 'ip daddr @blocked goto refuse', 'goto egress'] : ['goto refuse']),
  ]
}

/** The chains egress and to_box: outbound connections carry the box's epoch, and only replies with that epoch come back. */
export const OUTWARD_CHAINS: readonly string[] = [
  'chain egress {',
  'ct mark set ip saddr map @epoch_of accept',
  'drop',
  '}',
  'chain to_box {',
  'ct state established,related ct direction reply ip daddr . ct mark @epochs accept',
  'drop',
  '}',
]

/** A table parsed from nft's JSON listing. */
export interface ReadTable {
  /** Returns the elements of a set, or none if there is no such set. */
  elements(set: string): readonly unknown[]
  /** Returns the entry of an address, or null if it is incomplete. */
  marksOf(address: string): BoxMarks | null
}

/** Parses a listing. An invalid one gives an empty table. */
export function readTable(listing: string): ReadTable {
  const parts = LISTING.safeParse(parseJson(listing)).data?.nftables ?? []
  const sets = new Map<string, readonly unknown[]>()
  for (const { set, map } of parts) {
    const part = set ?? map
    if (part) sets.set(part.name, part.elem ?? [])
  }
  const elements = (set: string): readonly unknown[] => sets.get(set) ?? []
  const mapOf = (set: string) => new Map(elements(set).map((element) => MARK.safeParse(element).data ?? ['', 0]))
  const [projects, epochs] = [mapOf('project_of'), mapOf('epoch_of')]
  return {
    elements,
    marksOf: (address) => {
      const [projectMark, epoch] = [projects.get(address), epochs.get(address)]
      return projectMark && epoch ? { projectMark, epoch } : null
    },
  }
}

/** Builds the definition of a set. */
export function defineSet({ head, elements }: FilledSet): string {
  return `${head}${elements.length === 0 ? '' : ` elements = { ${elements.join(', ')} }`} }`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

type MarkSet = keyof typeof MARK_SETS
type RateSet = keyof typeof RATE_SETS

const MARK_SETS = {
  project_of: 'map project_of { type ipv4_addr : mark;',
  members: 'set members { type ipv4_addr . mark;',
  epoch_of: 'map epoch_of { type ipv4_addr : mark;',
  epochs: 'set epochs { type ipv4_addr . mark;',
} as const

// The rates in the definitions make a set hold rates of that kind. Each element has its own.
const RATE_SETS = {
  sent_bytes: 'set sent_bytes { type ipv4_addr; limit rate over 1 bytes/second;',
  sent_packets: 'set sent_packets { type ipv4_addr; limit rate over 1/second;',
  received_bytes: 'set received_bytes { type ipv4_addr; limit rate over 1 bytes/second;',
  received_packets: 'set received_packets { type ipv4_addr; limit rate over 1/second;',
} as const
const BYTES_PER_MBIT = 125_000
const PACKETS_PER_MBIT = 200
// TCP segments arrive in pieces of up to 64 KiB, and TCP sends in bursts.
const BURST_MIN_BYTES = 512 * 1024
const BURST_MIN_PACKETS = 200
const BURST_MAX = 1024 ** 3
const BURSTS_PER_SECOND = 5

const PRIVATE_RANGES = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10']
const NEVER_ROUTED = ['0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/4', '240.0.0.0/4']

const MARK = z.tuple([z.string(), z.int().positive()])
const ELEMENTS = z.array(z.unknown()).catch([])
const NAMED = z.object({ name: z.string(), elem: ELEMENTS.optional() })
const LISTING = z.object({ nftables: z.array(z.object({ set: NAMED.optional(), map: NAMED.optional() })) })
