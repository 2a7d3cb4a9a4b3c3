import { networkInterfaces } from 'node:os'
import { describe, expect, test } from '@jest/globals'
import type { buildConnector } from 'undici'
import { createGuardedConnector, isPublicAddress } from '../../../agent/drivers/registry/addresses.ts'

describe('an address', () => {
  test.each(['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0', '223.255.255.255'])(
    '%s is public',
    (address) => expect(isPublicAddress(address)).toBe(true),
  )

  test.each(['2606:4700:4700::1111', '2a00:1450:4001:82a::200e', '2001:4860:4860::8888'])('%s is public', (address) =>
    expect(isPublicAddress(address)).toBe(true),
  )

  test.each([
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.1.2.3'],
    ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.8', '192.0.2.1', '192.88.99.1', '192.168.1.1'],
    ...['198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.9', '224.0.0.1', '239.255.255.255', '240.0.0.1'],
    '255.255.255.255',
  ])('%s is not', (address) => expect(isPublicAddress(address)).toBe(false))

  test.each([
    ...['::', '::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::a00:1', 'fe80::1'],
    ...[
      'fe80::1%lo',
      'fec0::1',
      'fc00::1',
      'fd12:3456::1',
      'ff02::1',
      '2001::1',
      '2001:db8::1',
      '2002:7f00:1::',
      '100::1',
    ],
    ...['3fff::1', '5f00::1', '2606:4700:4700::1111%lo'],
  ])('%s is not', (address) => expect(isPublicAddress(address)).toBe(false))

  test.each(['', 'localhost', '127.1', '0x7f000001', '2130706433', '[::1]'])('%j is no address', (address) =>
    expect(isPublicAddress(address)).toBe(false),
  )

  test('of this host is never public', () => {
    const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
    expect(own.length).toBeGreaterThan(0)
    for (const address of own) expect(isPublicAddress(address)).toBe(false)
  })
})

describe('a guarded connection', () => {
  /** Connects to `reached` for any host name, as if a name had been pointed elsewhere. */
  const connectorTo = (reached: string) => {
    const asked: string[] = []
    const state = { isDestroyed: false }
    const socket = { remoteAddress: reached, destroy: () => void (state.isDestroyed = true) }
    const build = ((_options: unknown) => (to: { hostname: string }, callback: (...args: unknown[]) => void) => {
      asked.push(to.hostname)
      callback(null, socket)
    }) as unknown as typeof buildConnector
    const connect = createGuardedConnector(build, { named: new Set(['http://127.0.0.1:5000']), timeoutMs: 1000 })
    const to = (protocol: string, hostname: string, port: string) =>
      new Promise((resolve) => {
        const host = hostname.includes(':') ? `[${hostname}]:${port}` : `${hostname}:${port}`
        connect({ protocol, hostname, host, port }, (error, _socket) =>
          resolve(error === null ? 'connected' : error.message),
        )
      })
    return { to, asked, state }
  }
  const REFUSED = expect.stringContaining('an address that is not public')

  test('to a public address is made', async () => {
    const { to } = connectorTo('8.8.8.8')
    expect(await to('https:', 'registry.example.org', '443')).toBe('connected')
  })

  test.each(['127.0.0.1', '10.0.0.1', '::1', '::ffff:169.254.169.254'])(
    'that ended at %s is dropped before anything is sent',
    async (reached) => {
      const { to, state } = connectorTo(reached)
      expect(await to('https:', 'registry.example.org', '443')).toEqual(REFUSED)
      expect(state.isDestroyed).toBe(true)
    },
  )

  test.each(['127.0.0.1', '169.254.169.254', '::1', 'fd00::1'])('to the address %s is not begun', async (hostname) => {
    const { to, asked } = connectorTo(hostname)
    expect(await to('https:', hostname, '443')).toEqual(REFUSED)
    expect(asked).toEqual([])
  })

  test('to a named registry is made, and to no other scheme or port of its host', async () => {
    const { to } = connectorTo('127.0.0.1')
    expect(await to('http:', '127.0.0.1', '5000')).toBe('connected')
    expect(await to('https:', '127.0.0.1', '5000')).toEqual(REFUSED)
    expect(await to('http:', '127.0.0.1', '5001')).toEqual(REFUSED)
  })
})
