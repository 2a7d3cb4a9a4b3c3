/** Maximum number of instances of the service on one host, numbered from 0. */
export const INSTANCES_MAX = 12
/** Number of slots of one instance, numbered from 0. */
export const SLOTS_MAX = 1024
/** Number of host ids per slot. */
export const IDS_PER_SLOT = 65_536
/** Default gateway of boxes. No interface has this address. */
export const GATEWAY = '169.254.1.1'
/** Address at which each box reaches the name server of its project. No interface has it. */
export const NAME_SERVER = '169.254.1.53'

/** A range of integers. `end` is exclusive. */
export interface IdRange {
  start: number
  end: number
}

/** Addresses and ids of a slot, derived from instance `k` (0–11) and number `s` (0–1023). */
export interface SlotPlan {
  index: number
  idBase: number
  /** Number of host ids. */
  ids: number
  address: string
  /** Host end of the veth pair. The box's end is `eth0`. */
  interfaceName: string
  hostMac: Buffer
  boxMac: Buffer
}

/** Derives slot `s` of instance `k` in `subnet`, an IPv4 /16. */
export function planSlot(subnet: string, k: number, s: number): SlotPlan {
  return {
    index: s,
    idBase: idBase(k, s),
    ids: IDS_PER_SLOT,
    address: slotAddress(subnet, k * SLOTS_MAX + s),
    interfaceName: `${interfacePrefix(k)}${s}`,
    hostMac: Buffer.from([0x02, 0x62, 0x78, k, s >> 8, s & 255]),
    boxMac: Buffer.from([0x06, 0x62, 0x78, k, s >> 8, s & 255]),
  }
}

/** Derives the slot of name server `s` of instance `k`. Its addresses and ids follow the ones of all boxes. */
export function planServer(subnet: string, k: number, s: number): SlotPlan {
  return {
    index: SLOTS_MAX + s,
    idBase: serverIdBase(k, s),
    ids: IDS_PER_SERVER,
    address: slotAddress(subnet, (INSTANCES_MAX + k) * SLOTS_MAX + s),
    interfaceName: `${serverPrefix(k)}${s}`,
    hostMac: Buffer.from([0x02, 0x62, 0x79, k, s >> 8, s & 255]),
    boxMac: Buffer.from([0x06, 0x62, 0x79, k, s >> 8, s & 255]),
  }
}

/** Returns the name prefix of the interfaces of an instance's name servers. */
export function serverPrefix(k: number): string {
  return `${interfacePrefix(k)}n`
}

/** Returns the number of the name server of instance `k` whose host ids begin at `base`, or null if there is none. */
export function serverOfIdBase(k: number, base: number): number | null {
  const server = (base - serverIdBase(k, 0)) / IDS_PER_SERVER
  return Number.isInteger(server) && server >= 0 && server < SLOTS_MAX ? server : null
}

/** Returns the name prefix of an instance's interfaces on the host. */
export function interfacePrefix(k: number): string {
  return `bx${k}-`
}

/** Returns the slot of an interface of instance `k`, or null for any other interface. */
export function slotOfInterface(k: number, name: string): number | null {
  const prefix = interfacePrefix(k)
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : ''
  const slot = /^(0|[1-9]\d{0,3})$/.test(digits) ? Number(digits) : SLOTS_MAX
  return slot < SLOTS_MAX ? slot : null
}

/** Returns the slot of instance `k` whose host ids begin at `base`, or null if there is none. */
export function slotOfIdBase(k: number, base: number): number | null {
  const slot = (base - idBase(k, 0)) / IDS_PER_SLOT
  return Number.isInteger(slot) && slot >= 0 && slot < SLOTS_MAX ? slot : null
}

/** Returns the first and last address of an instance's boxes, and of its name servers. */
export function instanceAddresses(subnet: string, k: number): { first: string; last: string }[] {
  return [k, INSTANCES_MAX + k].map((bank) => ({
    first: slotAddress(subnet, bank * SLOTS_MAX),
    last: slotAddress(subnet, (bank + 1) * SLOTS_MAX - 1),
  }))
}

/** Returns the ranges of host ids of an instance, for its boxes and for its name servers. */
export function instanceIds(k: number): IdRange[] {
  return [idBase, serverIdBase].map((baseOf) => ({ start: baseOf(k, 0), end: baseOf(k + 1, 0) }))
}

/** The host ids of all instances, first of boxes and then of name servers. */
export const HOST_IDS: IdRange = { start: 0x4000_0000, end: 0x7000_6000 }

/** Returns the numbers of the instances whose ids `texts` (/etc/subuid and /etc/subgid) delegate to others. */
export function lentInstances(texts: readonly string[]): number[] {
  const lent = texts.flatMap(parseSubordinateIds)
  return Array.from({ length: INSTANCES_MAX }, (_, k) => k).filter((k) =>
    instanceIds(k).some((range) => isOverlapping(range, lent)),
  )
}

/** Parses the id ranges in the text of /etc/subuid or /etc/subgid. Skips invalid lines. */
export function parseSubordinateIds(text: string): IdRange[] {
  return text.split('\n').flatMap((line) => {
    const match = /^[^:#]+:(\d+):(\d+)\s*$/.exec(line)
    const start = Number(match?.[1])
    const count = Number(match?.[2])
    return match && count > 0 ? [{ start, end: start + count }] : []
  })
}

/** Returns true if `range` overlaps one of `others`. */
export function isOverlapping(range: IdRange, others: readonly IdRange[]): boolean {
  return others.some((other) => range.start < other.end && other.start < range.end)
}

/** Returns true if `uidMap`, the text of a /proc/PID/uid_map, is the mapping of a slot. */
export function isMappedTo(uidMap: string, { idBase: base, ids }: Pick<SlotPlan, 'idBase' | 'ids'>): boolean {
  const [inside, outside, count] = uidMap.trim().split(/\s+/).map(Number)
  return inside === 0 && outside === base && count === ids
}

/** Returns true if `subnet` is an IPv4 /16 in CIDR notation. */
export function isSlotSubnet(subnet: string): boolean {
  const match = /^(\d{1,3})\.(\d{1,3})\.0\.0\/16$/.exec(subnet)
  return (
    match !== null && [match[1], match[2]].every((octet) => String(Number(octet)) === octet && Number(octet) <= 255)
  )
}

function idBase(k: number, s: number): number {
  return ID_BASE + (k * SLOTS_MAX + s) * IDS_PER_SLOT
}

function serverIdBase(k: number, s: number): number {
  return SERVER_ID_BASE + (k * SLOTS_MAX + s) * IDS_PER_SERVER
}

// No address ends in .0 or .255, which some programs take for a network or broadcast address.
function slotAddress(subnet: string, n: number): string {
  const [first, second] = subnet.split('.')
  return `${first}.${second}.${Math.floor(n / HOSTS_PER_OCTET)}.${(n % HOSTS_PER_OCTET) + 1}`
}

const ID_BASE = HOST_IDS.start
/** Follows the ids of all boxes. Ids above 2³¹ are unusable, because some programs read them as negative. */
const SERVER_ID_BASE = ID_BASE + INSTANCES_MAX * SLOTS_MAX * IDS_PER_SLOT
/** Root, which enters the slot, and the user of the server. */
const IDS_PER_SERVER = 2
const HOSTS_PER_OCTET = 254
