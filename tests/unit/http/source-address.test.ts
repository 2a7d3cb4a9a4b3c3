import { expect, test } from '@jest/globals'
import { connectionsWithin } from '../../../shared/http/connection-limit.ts'
import { createSourceAddresses, isNetwork } from '../../../shared/http/source-address.ts'
import { sourceKey } from '../../../shared/http/source-key.ts'

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::FFFF:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:DB8::6', '2001:db8:0:0::/64'],
  ['2001:db8:1:2:3:4:5::', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  [undefined, ''],
])('the address %s is accounted as %s', (address, key) => {
  expect(sourceKey(address)).toBe(key)
})

test('a client is who the last proxy that is trusted has seen', () => {
  const { clientOf, isProxy } = createSourceAddresses(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1'])
  const forwarded = (list: string) => ({ 'x-forwarded-for': list })
  expect(clientOf('10.1.2.3', forwarded('198.51.100.1, 203.0.113.9'))).toBe('203.0.113.9')
  expect(clientOf('10.1.2.3', forwarded('203.0.113.9, 192.0.2.1, 10.9.9.9'))).toBe('203.0.113.9')
  expect(clientOf('::ffff:10.1.2.3', forwarded('203.0.113.9'))).toBe('203.0.113.9')
  expect(clientOf('2001:db8::1', forwarded('2001:dead::1'))).toBe('2001:dead::1')
  expect(clientOf('198.51.100.1', forwarded('203.0.113.9'))).toBe('198.51.100.1')
  expect(clientOf('10.1.2.3', {})).toBe('10.1.2.3')
  expect(clientOf('10.1.2.3', forwarded('somebody'))).toBe('10.1.2.3')
  expect(clientOf('10.1.2.3', forwarded('10.0.0.1'))).toBe('10.1.2.3')
  expect(isProxy('')).toBe(false)
})

test('no proxy is trusted by default', () => {
  const { clientOf } = createSourceAddresses([])
  expect(clientOf('127.0.0.1', { 'x-forwarded-for': '203.0.113.9' })).toBe('127.0.0.1')
})

test.each(['10.0.0.0/33', '10.0.0.0/', '2001:db8::/129', 'proxy', '10.0.0.0/8/8', ''])('%p is no network', (text) => {
  expect(isNetwork(text)).toBe(false)
})

test('connections take a fifth of the descriptors at most', () => {
  const limits =
    'Limit    Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files\n'
  expect([connectionsWithin(4096, limits), connectionsWithin(100, limits)]).toEqual([204, 100])
  expect(connectionsWithin(4096, '')).toBe(4096)
})
