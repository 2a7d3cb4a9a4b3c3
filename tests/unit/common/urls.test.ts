import { describe, expect, test } from '@jest/globals'
import {
  type EdgeAddress,
  hostOfBox,
  hostOfPreview,
  hostOfService,
  isOwnHost,
  mayPublish,
  signInHost,
  urlOf,
} from '../../../agent/core/common/urls.ts'

const address: EdgeAddress = { domain: 'localhost', scheme: 'http', port: 8081 }
const box = { id: 'box_01jd3m8w2k7v5x9q4n6p0r1s2t', project: 'demo', name: 'web' }
const long = { ...box, name: 'n'.repeat(40), project: 'p'.repeat(22) }

test('each has a host of its own below the domain', () => {
  expect(hostOfBox(box, address)).toBe('web--demo.localhost')
  expect(hostOfService(box, 'api', address)).toBe('api--web--demo.localhost')
  expect(hostOfPreview(box, 'api', address)).toBe('preview--api--web--demo.localhost')
  expect(signInHost(address)).toBe('sign-in.localhost')
})

test('a label that is too long for DNS is the id, or follows from it', () => {
  expect(hostOfBox({ ...long, project: 'p'.repeat(21) }, address)).toBe(`${long.name}--${'p'.repeat(21)}.localhost`)
  expect(hostOfBox(long, address)).toBe('box-01jd3m8w2k7v5x9q4n6p0r1s2t.localhost')
  const hosts = [hostOfService(long, 'api', address), hostOfPreview(long, 'api', address)]
  const other = [hostOfService(long, 'b', address), hostOfService({ ...long, id: `${long.id}x` }, 'api', address)]
  expect(new Set([...hosts, ...other]).size).toBe(4)
  for (const host of [...hosts, ...other]) expect(host).toMatch(/^[sp]-[0-9a-f]{32}\.localhost$/)
})

test('different names have different hosts', () => {
  const names = ['a', 'b', 'preview', 'a-b']
  const hosts = names.flatMap((name) =>
    names.flatMap((project) => {
      const one = { id: `${name}/${project}`, name, project }
      const ofServices = names.flatMap((each) => [hostOfService(one, each, address), hostOfPreview(one, each, address)])
      return [hostOfBox(one, address), ...ofServices]
    }),
  )
  expect(new Set(hosts).size).toBe(hosts.length)
})

test('a URL names the port unless it is that of the scheme', () => {
  expect(urlOf('a.localhost', address)).toBe('http://a.localhost:8081/')
  expect(urlOf('a.example.org', { domain: 'example.org', scheme: 'https', port: null })).toBe('https://a.example.org/')
})

describe('domains for publishing', () => {
  test.each(['shop.example.org', 'web.localhost', 'xn--bcher-kva.example', 'notlocalhost'])('%s', (domain) => {
    expect(mayPublish(domain, address)).toBe(true)
  })

  test.each([
    'localhost',
    'web--demo.localhost',
    'sign-in.localhost',
    'box-01jd3m8w2k7v5x9q4n6p0r1s2t.localhost',
    's-00.localhost',
    'p-00.localhost',
    'a.b.localhost',
  ])('not %s', (domain) => {
    expect(mayPublish(domain, address)).toBe(false)
  })
})

test('a host below the domain is recognized', () => {
  expect(
    ['localhost', 'a.localhost', 'alocalhost', 'localhost.example.org'].map((host) => isOwnHost(host, address)),
  ).toEqual([true, true, false, false])
})
