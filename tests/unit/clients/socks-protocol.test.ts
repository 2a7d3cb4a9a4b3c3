import { describe, expect, test } from '@jest/globals'
import { formatReply, parseGreeting, parseRequest, SOCKS_REPLY } from '../../../cli/ports/socks-protocol.ts'

const NAME = [...Buffer.from('web.boxyard')]
const REQUEST = Uint8Array.of(5, 1, 0, 3, NAME.length, ...NAME, 0x1f, 0x40)

describe('a greeting', () => {
  test('is its methods, and what follows is left', () => {
    expect(parseGreeting(Uint8Array.of(5, 2, 0, 2, 9))).toEqual({ message: [0, 2], length: 4 })
  })

  test('is awaited byte by byte', () => {
    for (const bytes of [[], [5], [5, 2], [5, 2, 0]]) expect(parseGreeting(Uint8Array.from(bytes))).toBeNull()
  })

  test.each([
    ['of SOCKS4', [4, 1]],
    ['of HTTP', [...Buffer.from('GET /')]],
    ['without methods', [5, 0]],
  ])('%s is refused without an answer', (_, bytes) => {
    expect(() => parseGreeting(Uint8Array.from(bytes))).toThrow(
      expect.objectContaining({ name: 'SocksError', reply: null }),
    )
  })
})

describe('a request', () => {
  test('is a name and a port, and what follows is left', () => {
    const found = { message: { host: 'web.boxyard', port: 8000 }, length: REQUEST.length }
    expect(parseRequest(REQUEST)).toEqual(found)
    expect(parseRequest(Uint8Array.of(...REQUEST, 71, 69, 84))).toEqual(found)
  })

  test('is awaited byte by byte', () => {
    for (let length = 0; length < REQUEST.length; length++)
      expect([length, parseRequest(REQUEST.subarray(0, length))]).toEqual([length, null])
  })

  test('is found wherever its bytes are in memory', () => {
    const larger = Uint8Array.of(1, 2, 3, ...REQUEST)
    expect(parseRequest(larger.subarray(3))?.message.port).toBe(8000)
  })

  const { failed, notAllowed, commandNotSupported, addressTypeNotSupported } = SOCKS_REPLY
  test.each([
    ['another version', [4, 1, 0, 3], null],
    ['BIND', [5, 2, 0, 3], commandNotSupported],
    ['UDP', [5, 3, 0, 3], commandNotSupported],
    ['a reserved byte that is none', [5, 1, 1, 3], failed],
    ['an IPv4 address', [5, 1, 0, 1], notAllowed],
    ['an IPv6 address', [5, 1, 0, 4], notAllowed],
    ['an unknown kind of address', [5, 1, 0, 9], addressTypeNotSupported],
    ['an empty name', [5, 1, 0, 3, 0], failed],
    ['a name with a line feed', [5, 1, 0, 3, 3, 97, 10, 98, 0, 80], failed],
    ['a name with bytes above ASCII', [5, 1, 0, 3, 2, 97, 228, 0, 80], failed],
    ['port 0', [5, 1, 0, 3, 1, 97, 0, 0], failed],
  ])('with %s is refused', (_, bytes, reply) => {
    expect(() => parseRequest(Uint8Array.from(bytes))).toThrow(expect.objectContaining({ name: 'SocksError', reply }))
  })
})

test('a reply has an address, though none is told', () => {
  expect([...formatReply(SOCKS_REPLY.succeeded)]).toEqual([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
})
