import * as z from 'zod'

/** A box of a table: who it is, which is the table's affair, and by which address. */
export interface AddressedBox {
  address: string
}

/** The fields of a box's entry that all tables have. */
export interface BoxMarks {
  /** The same for the boxes of one project, 1 or more. */
  projectMark: number
  /** Drawn anew for each box, 1 or more: answers from outside to an earlier user of the address have another one. */
  epoch: number
}

/** The contents of a table's sets besides its boxes. */
export interface TableLoad {
  /** Connections that a box may have open, or not yet forgotten, at a time. */
  flowsPerBox: number
  /** IPv4 addresses that boxes may ask on port 53 although they are private. */
  resolvers: readonly string[]
}

/** A set of a table: the head of its definition, and its elements. */
export interface FilledSet {
  head: string
  elements: readonly string[]
}

/** The commands that put a whole table of family `inet` in the place of the one there is, as one transaction. */
export function tableCommands(name: string, lines: readonly string[]): string {
  const table = `inet ${name}`
  return [`add table ${table}`, `delete table ${table}`, `table ${table} {`, ...lines, '}', ''].join('\n')
}

/** The commands that add an element to each of several sets of a table, or delete it. */
export function elementCommands(
  verb: 'add' | 'delete',
  table: string,
  elements: Readonly<Record<string, string>>,
): string {
  return Object.entries(elements)
    .map(([set, element]) => `${verb} element inet ${table} ${set} { ${element} }`)
    .join('\n')
}

/** The elements that every table has for a box, by their sets. */
export function markElements({ address, projectMark, epoch }: AddressedBox & BoxMarks): Record<MarkSet, string> {
  return {
    project_of: `${address} : ${projectMark}`,
    members: `${address} . ${projectMark}`,
    epoch_of: `${address} : ${epoch}`,
    epochs: `${address} . ${epoch}`,
  }
}

/** The definitions of the sets that every table has, after `own`. */
export function setDefinitions(
  own: FilledSet,
  boxes: readonly (AddressedBox & BoxMarks)[],
  { resolvers, allowPrivate, boxesMax }: Pick<TableLoad, 'resolvers'> & { allowPrivate: boolean; boxesMax: number },
): string[] {
  const elements = boxes.map(markElements)
  const marks = Object.entries(MARK_SETS).map(([name, head]) => ({
    head,
    elements: elements.map((each) => each[name as MarkSet]),
  }))
  const blocked = allowPrivate ? NEVER_ROUTED : [...NEVER_ROUTED, ...PRIVATE_RANGES]
  return [
    ...[own, ...marks].map(define),
    define({ head: 'set blocked { type ipv4_addr; flags interval;', elements: blocked }),
    define({ head: 'set resolvers { type ipv4_addr;', elements: resolvers }),
    `set flows { type ipv4_addr; flags dynamic; size ${2 * boxesMax}; }`,
  ]
}

/** The chains to_host and refuse: what boxes send to the host itself, and how they are told that something is barred. */
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

/** The rule that bounds the connections of each box: the memory of connections is the host's. */
export function flowLimit(flowsPerBox: number): string {
  return `ct state new add @flows { ip saddr ct count over ${flowsPerBox} } goto refuse`
}

/** The chain between_boxes: only boxes of one project pass. */
export const BETWEEN_CHAIN: readonly string[] = [
  // One rule: the mark is ours for as long as it takes to look it up, and only on a packet that stays between boxes.
  'chain between_boxes {',
  'meta mark set ip saddr map @project_of ip daddr . meta mark @members meta mark set 0 accept',
  'goto refuse',
  '}',
]

/** The end of a chain that decides what boxes send out; `asksResolver` matches what they ask of resolvers. */
export function outwardRules(egress: boolean, asksResolver: string): string[] {
  return [
    'ip daddr 169.254.0.0/16 goto refuse',
    ...(egress ? [`${asksResolver} goto egress`, 'ip daddr @blocked goto refuse', 'goto egress'] : ['goto refuse']),
  ]
}

/** The chains egress and to_box: what a box sends out bears its epoch, and only answers that bear it come back. */
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

/** A table that nft listed as JSON. */
export interface ReadTable {
  /** Returns the elements of a set; none if there is no such set. */
  elements(set: string): readonly unknown[]
  /** Returns the entry of an address; null if it is incomplete. */
  marksOf(address: string): BoxMarks | null
}

/** Reads a listing; an unreadable one is an empty table. */
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

function define({ head, elements }: FilledSet): string {
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

const MARK_SETS = {
  project_of: 'map project_of { type ipv4_addr : mark;',
  members: 'set members { type ipv4_addr . mark;',
  epoch_of: 'map epoch_of { type ipv4_addr : mark;',
  epochs: 'set epochs { type ipv4_addr . mark;',
} as const

const PRIVATE_RANGES = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10']
const NEVER_ROUTED = ['0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/4', '240.0.0.0/4']

const MARK = z.tuple([z.string(), z.int().positive()])
const ELEMENTS = z.array(z.unknown()).catch([])
const NAMED = z.object({ name: z.string(), elem: ELEMENTS.optional() })
const LISTING = z.object({ nftables: z.array(z.object({ set: NAMED.optional(), map: NAMED.optional() })) })
