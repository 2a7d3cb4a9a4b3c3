import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type BackendLab, openBackendLab, SIGN_IN_HOST, targetOf } from '../../helpers/edge/backend.ts'

let lab: BackendLab

beforeEach(async () => {
  lab = await openBackendLab()
})
afterEach(() => lab.close())

const certifies = (host: string): Promise<boolean> => lab.backend.gate.certifies(host)

test('only existing names and the sign-in get certificates', async () => {
  lab.hosts.set('shop.example.org', targetOf({}))
  expect(await Promise.all(['shop.example.org', SIGN_IN_HOST].map(certifies))).toEqual([true, true])
  const others = [
    'nobody.example.org',
    'boxes.test',
    '',
    'Shop.example.org',
    'shop.example.org.',
    'shop.example.org:443',
  ]
  expect(await Promise.all(others.map(certifies))).toEqual(others.map(() => false))
})

test('a domain that was published before it was reserved gets none', async () => {
  for (const host of ['api.example.org', 'example.org', 'in.api.example.org', 'shop.example.org'])
    lab.hosts.set(host, targetOf({}))
  const hosts = ['api.example.org', 'example.org', 'in.api.example.org', 'shop.example.org']
  expect(await Promise.all(hosts.map(certifies))).toEqual([false, false, false, true])
})

test('a box gets 30 at once, then one every two minutes, without affecting others', async () => {
  const target = targetOf({})
  for (let i = 0; i < 40; i++) lab.hosts.set(`n${i}.example.org`, target)
  lab.hosts.set('other.example.org', targetOf({ id: 'box_other' }))
  const given = []
  for (let i = 0; i < 40; i++) given.push(await certifies(`n${i}.example.org`))
  expect(given.filter(Boolean)).toHaveLength(30)
  expect([await certifies('other.example.org'), await certifies('n0.example.org')]).toEqual([true, false])
  lab.pass(119_000)
  expect(await certifies('n39.example.org')).toBe(false)
  lab.pass(1_000)
  expect([await certifies('n39.example.org'), await certifies('n38.example.org')]).toEqual([true, false])
  expect(lab.lines.join('\n')).toContain('exceeds its limit of certificates')
})

test('a host that another cell has for sure gets one, within the bounds of its box', async () => {
  lab.led.set('shop.example.org', { address: '10.0.0.2', port: 8093 })
  for (let i = 0; i < 30; i++) expect(await certifies('shop.example.org')).toBe(true)
  expect(await certifies('shop.example.org')).toBe(false)
})
