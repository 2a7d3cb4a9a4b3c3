/** One rtnetlink request: its type, its flags besides REQUEST and ACK, and its encoded body. */
export interface RouteMessage {
  type: number
  flags: number
  body: Buffer
  /** Description for the error text. */
  label: string
}

/** A request that the kernel refused: `errno` is positive, `index` the request's position in the batch. */
export interface RouteRefusal {
  index: number
  errno: number
}

/** A network interface. */
export interface NetworkLink {
  name: string
  /** Index of the other end of a veth, in the network namespace of that end. Null for other kinds. */
  peerIndex: number | null
}

export interface VethRequest {
  name: string
  mac: Buffer
  mtu: number
  peerName: string
  peerMac: Buffer
  /** Descriptor of the peer's network namespace. */
  peerNamespace: number
}

/** Encodes the creation of a veth pair: one end here, its peer in another network namespace. Both down. */
export function createVeth(request: VethRequest): RouteMessage {
  const own = [attribute(IFLA.ADDRESS, request.mac), u32Attribute(IFLA.MTU, request.mtu), ...ONE_QUEUE]
  const peer = Buffer.concat([
    linkHeader(0, 0, 0),
    attribute(IFLA.IFNAME, cString(request.peerName)),
    attribute(IFLA.ADDRESS, request.peerMac),
    u32Attribute(IFLA.MTU, request.mtu),
    u32Attribute(IFLA.NET_NS_FD, request.peerNamespace),
    ...ONE_QUEUE,
  ])
  const linkInfo = Buffer.concat([
    attribute(IFLA_INFO.KIND, Buffer.from('veth')),
    attribute(IFLA_INFO.DATA, attribute(VETH_INFO_PEER, peer)),
  ])
  const body = Buffer.concat([
    linkHeader(0, 0, 0),
    attribute(IFLA.IFNAME, cString(request.name)),
    ...own,
    attribute(IFLA.LINKINFO, linkInfo),
  ])
  return { type: RTM.NEWLINK, flags: NLM_F.CREATE | NLM_F.EXCL, body, label: `create ${request.name}` }
}

/** Encodes the removal of an interface. The peer of a veth goes with it. */
export function deleteLink(name: string): RouteMessage {
  const body = Buffer.concat([linkHeader(0, 0, 0), attribute(IFLA.IFNAME, cString(name))])
  return { type: RTM.DELLINK, flags: 0, body, label: `delete ${name}` }
}

/** Encodes bringing an interface up. `withoutArp` disables ARP on it. */
export function setLinkUp(index: number, withoutArp: boolean): RouteMessage {
  const flags = IFF.UP | (withoutArp ? IFF.NOARP : 0)
  return { type: RTM.NEWLINK, flags: 0, body: linkHeader(index, flags, IFF.UP | IFF.NOARP), label: `up ${index}` }
}

/** Encodes adding an IPv4 address with prefix length 32. */
export function addAddress(index: number, address: string): RouteMessage {
  const header = Buffer.alloc(8)
  header.writeUInt8(AF_INET, 0)
  header.writeUInt8(32, 1)
  header.writeUInt32LE(index, 4)
  const bytes = ipv4Bytes(address)
  const body = Buffer.concat([header, attribute(IFA.LOCAL, bytes), attribute(IFA.ADDRESS, bytes)])
  return { type: RTM.NEWADDR, flags: NLM_F.CREATE | NLM_F.REPLACE, body, label: `address ${address}` }
}

/** Encodes a permanent neighbour entry with the hardware address of an IPv4 address. */
export function addNeighbour(index: number, address: string, mac: Buffer): RouteMessage {
  const header = Buffer.alloc(12)
  header.writeUInt8(AF_INET, 0)
  header.writeUInt32LE(index, 4)
  header.writeUInt16LE(NUD_PERMANENT, 8)
  const body = Buffer.concat([header, attribute(NDA.DST, ipv4Bytes(address)), attribute(NDA.LLADDR, mac)])
  return { type: RTM.NEWNEIGH, flags: NLM_F.CREATE | NLM_F.REPLACE, body, label: `neighbour ${address}` }
}

/** Encodes a link-scope route of one IPv4 address through an interface. */
export function addHostRoute(index: number, address: string): RouteMessage {
  const body = Buffer.concat([
    routeHeader(32, RT_SCOPE.LINK, 0),
    attribute(RTA.DST, ipv4Bytes(address)),
    u32Attribute(RTA.OIF, index),
  ])
  return { type: RTM.NEWROUTE, flags: NLM_F.CREATE | NLM_F.REPLACE, body, label: `route ${address}` }
}

/** Encodes a default route to a gateway on the interface's link, even if no address of the interface covers it (onlink). */
export function addDefaultRoute(index: number, gateway: string): RouteMessage {
  const body = Buffer.concat([
    routeHeader(0, RT_SCOPE.UNIVERSE, RTNH_F_ONLINK),
    attribute(RTA.GATEWAY, ipv4Bytes(gateway)),
    u32Attribute(RTA.OIF, index),
  ])
  return { type: RTM.NEWROUTE, flags: NLM_F.CREATE | NLM_F.REPLACE, body, label: `route via ${gateway}` }
}

/** Encodes the request for a list of all interfaces. */
export function listLinksRequest(): RouteMessage {
  return { type: RTM.GETLINK, flags: NLM_F.DUMP, body: linkHeader(0, 0, 0), label: 'list interfaces' }
}

/** Decodes the interfaces of a datagram. `isLast` says that the list ends with it. */
export function decodeLinks(data: Buffer): { links: NetworkLink[]; isLast: boolean } {
  const links: NetworkLink[] = []
  for (const { type, body } of messagesOf(data)) {
    if (type !== RTM.NEWLINK) return { links, isLast: true }
    const attributes = new Map(attributesOf(body.subarray(LINK_HEADER_BYTES)))
    const name = attributes.get(IFLA.IFNAME)?.toString('utf8').replace(/\0.*$/s, '')
    if (name !== undefined) links.push({ name, peerIndex: attributes.get(IFLA.LINK)?.readUInt32LE(0) ?? null })
  }
  return { links, isLast: false }
}

/** Encodes `messages` for one send. Each requests an acknowledgement, and its sequence number is its index + 1. */
export function encodeMessages(messages: readonly RouteMessage[]): Buffer {
  const parts = messages.map((message, index) => {
    const header = Buffer.alloc(16)
    header.writeUInt32LE(16 + message.body.length, 0)
    header.writeUInt16LE(message.type, 4)
    header.writeUInt16LE(NLM_F.REQUEST | NLM_F.ACK | message.flags, 6)
    header.writeUInt32LE(index + 1, 8)
    return padded(Buffer.concat([header, message.body]))
  })
  return Buffer.concat(parts)
}

/** Decodes the acknowledgements of a datagram: their number, and the refusals among them. */
export function decodeAcks(data: Buffer): { count: number; refusals: RouteRefusal[] } {
  const refusals: RouteRefusal[] = []
  let count = 0
  for (let at = 0; at + 20 <= data.length; ) {
    const length = data.readUInt32LE(at)
    if (length < 16 || at + length > data.length) break
    if (data.readUInt16LE(at + 4) === NLMSG_ERROR) {
      count++
      const errno = -data.readInt32LE(at + 16)
      if (errno !== 0) refusals.push({ index: data.readUInt32LE(at + 8) - 1, errno })
    }
    at += (length + 3) & ~3
  }
  return { count, refusals }
}

/** Returns the message types in a datagram, up to the first malformed message. */
export function messageTypes(data: Buffer): number[] {
  return [...messagesOf(data)].map(({ type }) => type)
}

function* messagesOf(data: Buffer): Generator<{ type: number; body: Buffer }> {
  for (let at = 0; at + 16 <= data.length; ) {
    const length = data.readUInt32LE(at)
    if (length < 16 || at + length > data.length) return
    yield { type: data.readUInt16LE(at + 4), body: data.subarray(at + 16, at + length) }
    at += (length + 3) & ~3
  }
}

function* attributesOf(data: Buffer): Generator<[type: number, value: Buffer]> {
  for (let at = 0; at + 4 <= data.length; ) {
    const length = data.readUInt16LE(at)
    if (length < 4 || at + length > data.length) return
    yield [data.readUInt16LE(at + 2) & ATTRIBUTE_TYPE, data.subarray(at + 4, at + length)]
    at += (length + 3) & ~3
  }
}

/** Returns the four bytes of a dotted IPv4 address. */
export function ipv4Bytes(address: string): Buffer {
  return Buffer.from(address.split('.').map(Number))
}

function linkHeader(index: number, flags: number, change: number): Buffer {
  const header = Buffer.alloc(16)
  header.writeInt32LE(index, 4)
  header.writeUInt32LE(flags, 8)
  header.writeUInt32LE(change, 12)
  return header
}

function routeHeader(prefixLength: number, scope: number, flags: number): Buffer {
  const header = Buffer.alloc(12)
  header.set([AF_INET, prefixLength, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, scope, RTN_UNICAST])
  header.writeUInt32LE(flags, 8)
  return header
}

function attribute(type: number, value: Buffer): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt16LE(4 + value.length, 0)
  header.writeUInt16LE(type, 2)
  return padded(Buffer.concat([header, value]))
}

function u32Attribute(type: number, value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return attribute(type, bytes)
}

function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`)
}

function padded(bytes: Buffer): Buffer {
  const rest = (4 - (bytes.length % 4)) % 4
  return rest === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(rest)])
}

// Numbers of the kernel's user interface: linux/netlink.h, rtnetlink.h, if_link.h, if.h, neighbour.h, veth.h.
const AF_INET = 2
const NLMSG_ERROR = 2
const NLM_F = { REQUEST: 1, ACK: 4, REPLACE: 0x100, EXCL: 0x200, DUMP: 0x300, CREATE: 0x400 } as const
const ATTRIBUTE_TYPE = 0x3fff
const LINK_HEADER_BYTES = 16
const RTM = { NEWLINK: 16, DELLINK: 17, GETLINK: 18, NEWADDR: 20, NEWROUTE: 24, NEWNEIGH: 28 } as const
const IFLA = {
  ADDRESS: 1,
  IFNAME: 3,
  MTU: 4,
  LINK: 5,
  LINKINFO: 18,
  NET_NS_FD: 28,
  NUM_TX_QUEUES: 31,
  NUM_RX_QUEUES: 32,
} as const
const IFLA_INFO = { KIND: 1, DATA: 2 } as const
const VETH_INFO_PEER = 1
const IFF = { UP: 1, NOARP: 0x80 } as const
const IFA = { ADDRESS: 1, LOCAL: 2 } as const
const NDA = { DST: 1, LLADDR: 2 } as const
const NUD_PERMANENT = 0x80
const RTA = { DST: 1, OIF: 4, GATEWAY: 5 } as const
const RT_SCOPE = { UNIVERSE: 0, LINK: 253 } as const
const RT_TABLE_MAIN = 254
const RTPROT_BOOT = 3
const RTN_UNICAST = 1
const RTNH_F_ONLINK = 4
// One queue per CPU, the default, would cost memory in every box without any gain for a veth.
const ONE_QUEUE = [u32Attribute(IFLA.NUM_TX_QUEUES, 1), u32Attribute(IFLA.NUM_RX_QUEUES, 1)]
