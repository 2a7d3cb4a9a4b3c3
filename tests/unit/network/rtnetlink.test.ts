import { describe, expect, test } from '@jest/globals'
import {
  addAddress,
  addDefaultRoute,
  addHostRoute,
  addNeighbour,
  createVeth,
  decodeAcks,
  deleteLink,
  encodeMessages,
  messageTypes,
  setLinkUp,
} from '../../../agent/lib/syscalls/rtnetlink.ts'

const MAC = Buffer.from('026278000001', 'hex')

/** Expected bytes are those strace shows for iproute2's request, except for the sequence number. */
describe('encodeMessages', () => {
  test.each([
    [
      'brings an interface up',
      setLinkUp(2, false),
      '20000000 1000 0500 01000000 00000000 00 00 0000 02000000 01000000 81000000',
    ],
    [
      'brings one up without ARP',
      setLinkUp(2, true),
      '20000000 1000 0500 01000000 00000000 00 00 0000 02000000 81000000 81000000',
    ],
    [
      'adds an address',
      addAddress(2, '10.0.0.1'),
      '28000000 1400 0505 01000000 00000000 02 20 00 00 02000000 0800 0200 0a000001 0800 0100 0a000001',
    ],
    [
      'adds a neighbour',
      addNeighbour(2, '10.0.0.1', MAC),
      '30000000 1c00 0505 01000000 00000000 02 00 0000 02000000 8000 00 00 0800 0100 0a000001 0a00 0200 026278000001 0000',
    ],
    [
      'routes an address',
      addHostRoute(3, '10.0.0.1'),
      '2c000000 1800 0505 01000000 00000000 02 20 00 00 fe 03 fd 01 00000000 0800 0100 0a000001 0800 0400 03000000',
    ],
    [
      'routes the rest',
      addDefaultRoute(3, '169.254.1.1'),
      '2c000000 1800 0505 01000000 00000000 02 00 00 00 fe 03 00 01 04000000 0800 0500 a9fe0101 0800 0400 03000000',
    ],
    [
      'deletes an interface',
      deleteLink('bx0-1'),
      '2c000000 1100 0500 01000000 00000000 00 00 0000 00000000 00000000 00000000 0a00 0300 6278302d3100 0000',
    ],
  ])('%s', (_, message, bytes) => {
    expect(encodeMessages([message]).toString('hex')).toBe(bytes.replaceAll(' ', ''))
  })

  test('numbers requests by their place and keeps them on boundaries of four bytes', () => {
    const veth = createVeth({ name: 'bx0-1', mac: MAC, mtu: 1500, peerName: 'eth0', peerMac: MAC, peerNamespace: 9 })
    const bytes = encodeMessages([veth, setLinkUp(1, false)])
    const length = bytes.readUInt32LE(0)
    expect(length % 4).toBe(0)
    expect([bytes.readUInt32LE(8), bytes.readUInt32LE(length + 8)]).toEqual([1, 2])
    expect(bytes.length).toBe(length + 32)
  })
})

describe('decodeAcks', () => {
  const ack = (sequence: number, errno: number): Buffer => {
    const bytes = Buffer.alloc(36)
    bytes.writeUInt32LE(36, 0)
    bytes.writeUInt16LE(2, 4)
    bytes.writeUInt32LE(sequence, 8)
    bytes.writeInt32LE(-errno, 16)
    return bytes
  }

  test('returns the refused requests', () => {
    expect(decodeAcks(Buffer.concat([ack(1, 0), ack(2, 17), ack(3, 0)]))).toEqual({
      count: 3,
      refusals: [{ index: 1, errno: 17 }],
    })
  })

  test.each([
    ['nothing', ''],
    ['a cut message', '24000000020000'],
    ['a length of zero', '00'.repeat(40)],
    ['a length beyond the end', 'ff'.repeat(40)],
  ])('stops at %s', (_, hex) => expect(decodeAcks(Buffer.from(hex, 'hex'))).toEqual({ count: 0, refusals: [] }))
})

describe('messageTypes', () => {
  const datagram = encodeMessages([setLinkUp(1, false), deleteLink('bx0-1')])

  test('reads the kinds of all messages', () => expect(messageTypes(datagram)).toEqual([16, 17]))

  test('stops at a broken one', () => {
    expect(messageTypes(datagram.subarray(0, -1))).toEqual([16])
    expect(messageTypes(Buffer.alloc(40))).toEqual([])
  })
})
