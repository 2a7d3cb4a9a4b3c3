import * as z from 'zod'
import { instanceAddresses, interfacePrefix, SLOTS_MAX } from './network-slots.ts'

/** What the packet filter knows of one box. */
export interface FilterEntry {
  interfaceName: string
  address: string
  /** The same for the boxes of one project, 1 or more. */
  projectMark: number
  /** Drawn anew for each box, 1 or more: answers from outside to an earlier user of the address have another one. */
  epoch: number
}

export interface RulesetRequest {
  /** The instance's number. */
  instance: number
  subnet: string
  egress: boolean
  allowPrivate: boolean
  /** Connections that a box may have open, or not yet forgotten, at a time. */
  flowsPerBox: number
  /** IPv4 addresses that boxes may ask on port 53 although they are private. */
  resolvers: readonly string[]
  entries: readonly FilterEntry[]
}

/**
 * The connections that each box may have of `connectionsMax`, those that the host can remember: so few that it takes 256
 * boxes to use them up (fewer where it can remember less than 65536), and no more than 4096.
 */
export function flowsPerBox(connectionsMax: number): number {
  return Math.min(FLOWS_MAX, Math.max(FLOWS_MIN, Math.floor(connectionsMax / BOXES_TO_FILL)))
}

/** The name of an instance's table, in family `inet`. */
export function tableName(instance: number): string {
  return `boxyard_${instance}`
}

/**
 * The commands that put an instance's whole table in the place of the one there is, as one transaction. Nothing passes
 * between boxes but by the sets, in both directions; a source address is checked before connection tracking sees it.
 */
export function rulesetCommands(request: RulesetRequest): string {
  const table = `inet ${tableName(request.instance)}`
  return [
    `add table ${table}`,
    `delete table ${table}`,
    `table ${table} {`,
    ...setDefinitions(request),
    ...hostChains(request),
    ...boxChains(request),
    '}',
    '',
  ].join('\n')
}

/** The commands that let a box into its project. */
export function addCommands(instance: number, entry: FilterEntry): string {
  return elementCommands('add', instance, entry)
}

/** The commands that take back what `addCommands` did. */
export function removeCommands(instance: number, entry: FilterEntry): string {
  return elementCommands('delete', instance, entry)
}

/** The boxes that a table, listed as JSON by nft, lets through; those it knows only in part are left out. */
export function parseEntries(listing: string): FilterEntry[] {
  const parsed = LISTING.safeParse(parseJson(listing))
  if (!parsed.success) return []
  const pairs = new Map<string, Pair[]>()
  for (const { set, map } of parsed.data.nftables) {
    if (set)
      pairs.set(
        set.name,
        pairsOf(set.elem, CONCATENATION).map((element) => element.concat),
      )
    if (map) pairs.set(map.name, pairsOf(map.elem, PAIR))
  }
  const marks = new Map(pairs.get('project_of'))
  const epochs = new Map(pairs.get('epoch_of'))
  return (pairs.get('slots') ?? []).flatMap(([interfaceName, address]) => {
    const projectMark = Number(marks.get(String(address)))
    const epoch = Number(epochs.get(String(address)))
    return projectMark > 0 && epoch > 0 ? [{ interfaceName, address: String(address), projectMark, epoch }] : []
  })
}

function elementCommands(verb: 'add' | 'delete', instance: number, entry: FilterEntry): string {
  return Object.entries(elementsOf(entry))
    .map(([set, element]) => `${verb} element inet ${tableName(instance)} ${set} { ${element} }`)
    .join('\n')
}

function elementsOf({ interfaceName, address, projectMark, epoch }: FilterEntry): Record<SetName, string> {
  return {
    slots: `"${interfaceName}" . ${address}`,
    project_of: `${address} : ${projectMark}`,
    members: `${address} . ${projectMark}`,
    epoch_of: `${address} : ${epoch}`,
    epochs: `${address} . ${epoch}`,
  }
}

function setDefinitions({ entries, allowPrivate, resolvers }: RulesetRequest): string[] {
  const elements = entries.map(elementsOf)
  const ours = Object.entries(SET_TYPES).map(([name, kind]) =>
    define(
      kind,
      elements.map((element) => element[name as SetName]),
    ),
  )
  const blocked = allowPrivate ? NEVER_ROUTED : [...NEVER_ROUTED, ...PRIVATE_RANGES]
  return [
    ...ours,
    define('set blocked { type ipv4_addr; flags interval;', blocked),
    define('set resolvers { type ipv4_addr;', resolvers),
    `set flows { type ipv4_addr; flags dynamic; size ${2 * SLOTS_MAX}; }`,
  ]
}

function define(head: string, elements: readonly string[]): string {
  return `${head}${elements.length === 0 ? '' : ` elements = { ${elements.join(', ')} }`} }`
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
    'chain input { type filter hook input priority filter; policy accept;',
    `iifname ${ours} jump to_host`,
    '}',
    'chain to_host {',
    'ct state established,related ct direction reply accept',
    'goto refuse',
    '}',
    'chain refuse {',
    'meta nfproto ipv4 reject with icmp type admin-prohibited',
    'drop',
    '}',
    'chain postrouting { type nat hook postrouting priority srcnat; policy accept;',
    `ip saddr ${first}-${last} oifname != "bx*" masquerade`,
    '}',
  ]
}

function boxChains({ instance, subnet, egress, flowsPerBox }: RulesetRequest): string[] {
  const ours = `"${interfacePrefix(instance)}*"`
  return [
    'chain forward { type filter hook forward priority filter; policy accept;',
    // The memory of connections is the host's: one box must not fill it.
    `iifname ${ours} ct state new add @flows { ip saddr ct count over ${flowsPerBox} } goto refuse`,
    `iifname ${ours} oifname ${ours} goto between_boxes`,
    `iifname ${ours} goto from_box`,
    `oifname ${ours} goto to_box`,
    '}',
    // One rule: the mark is ours for as long as it takes to look it up, and only on a packet that stays between boxes.
    'chain between_boxes {',
    'meta mark set ip saddr map @project_of ip daddr . meta mark @members meta mark set 0 accept',
    'goto refuse',
    '}',
    'chain from_box {',
    'oifname "bx*" goto refuse',
    `ip daddr ${subnet} goto refuse`,
    'ip daddr 169.254.0.0/16 goto refuse',
    ...(egress
      ? [
          'ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 goto egress',
          'ip daddr @blocked goto refuse',
          'goto egress',
        ]
      : ['goto refuse']),
    '}',
    'chain egress {',
    'ct mark set ip saddr map @epoch_of accept',
    'drop',
    '}',
    'chain to_box {',
    'ct state established,related ct direction reply ip daddr . ct mark @epochs accept',
    'drop',
    '}',
  ]
}

function pairsOf<T>(elements: unknown, schema: z.ZodType<T>): T[] {
  return z.array(schema).safeParse(elements).data ?? []
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

type SetName = keyof typeof SET_TYPES
type Pair = [string, string | number]

const SET_TYPES = {
  slots: 'set slots { type ifname . ipv4_addr;',
  project_of: 'map project_of { type ipv4_addr : mark;',
  members: 'set members { type ipv4_addr . mark;',
  epoch_of: 'map epoch_of { type ipv4_addr : mark;',
  epochs: 'set epochs { type ipv4_addr . mark;',
} as const

const FLOWS_MIN = 256
const FLOWS_MAX = 4_096
const BOXES_TO_FILL = 256
const PRIVATE_RANGES = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10']
const NEVER_ROUTED = ['0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/4', '240.0.0.0/4']

const PAIR = z.tuple([z.string(), z.union([z.string(), z.number()])])
const CONCATENATION = z.object({ concat: PAIR })
const NAMED = z.object({ name: z.string(), elem: z.unknown().optional() })
const LISTING = z.object({ nftables: z.array(z.object({ set: NAMED.optional(), map: NAMED.optional() })) })
