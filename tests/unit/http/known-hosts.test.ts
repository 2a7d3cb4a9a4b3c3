import { describe, expect, test } from '@jest/globals'
import { hostAuthority } from '../../../shared/auth/host-authority.ts'
import { HOSTS_EXPECTED, isHostPattern } from '../../../shared/http/host-pattern.ts'
import {
  createKnownHosts,
  hostsOfOrigins,
  machineNames,
  refuseUnknownHosts,
  unknownHost,
} from '../../../shared/http/known-hosts.ts'
import { jsonResponse } from '../../../shared/http/messages.ts'
import { matchOperation } from '../../../shared/match.ts'
import { jsonOf, makeRequest } from '../../helpers/front/test-front.ts'

const isKnown = createKnownHosts(['api.example.org', '*.boxes.example.org', 'Node-1', '10.0.0.1', ''])

describe('a host is known', () => {
  test.each([
    ...['127.0.0.1', '127.0.0.1:8080', '10.1.2.3:80', '0.0.0.0', '[::1]', '[::1]:8080', '[2001:db8::7]:1'],
    ...['localhost', 'localhost:8080', 'LOCALHOST.', 'web--demo.localhost:8081', 'localhost.:80'],
    ...['api.example.org', 'API.Example.Org:443', 'api.example.org.', 'api.example.org.:443'],
    ...['a.boxes.example.org', 'a.b.boxes.example.org:1', 'node-1', 'NODE-1:8080'],
  ])('as %s', (host) => expect(isKnown(host)).toBe(true))

  test('without a header, which every browser sends', () => expect(isKnown(undefined)).toBe(true))
})

describe('a host is unknown', () => {
  test.each([
    ...['evil.test', 'evil.test:8080', 'xapi.example.org', 'api.example.org.evil.test', 'boxes.example.org'],
    ...['localhost.evil.test', 'notlocalhost', '127.0.0.1.evil.test', '127.0.0.1.nip.io', '10.0.0.1.evil.test:80'],
    ...[
      '',
      ' ',
      ':80',
      '.',
      '.localhost.evil.test',
      'node-1.evil.test',
      'evil',
      '[evil]',
      '[::1',
      '::1',
      '[::1].evil.test',
    ],
    ...['127.0.0.1@evil.test', 'evil.test/127.0.0.1', 'localhost:80:80', 'localhost, evil.test', 'localhost evil.test'],
    ...['2130706433', '0x7f000001', '127.1', 'localhost:port', '*.boxes.example.org.evil.test'],
  ])('as %j', (host) => expect(isKnown(host)).toBe(false))

  test('where nothing is configured, but for what nobody can lead elsewhere', () => {
    const bare = createKnownHosts([])
    expect([bare('node-1'), bare('api.example.org'), bare('127.0.0.1'), bare('localhost')]).toEqual([
      false,
      false,
      true,
      true,
    ])
  })
})

describe("the machine's own names", () => {
  test('are its host name, alone and with what its resolver adds, and those beside it in the file of hosts', () => {
    const names = machineNames({
      hostname: 'Web1',
      hosts:
        '127.0.0.1 localhost ads.example.com\n127.0.1.1\tweb1.corp.example web1 # web1.comment\n#10.0.0.9 web1 old',
      resolver: '# search none.example\nsearch corp.test lan\nnameserver 10.0.0.1\n',
    })
    expect(names).toEqual(['web1', 'web1.local', 'web1.corp.test', 'web1.lan', 'web1.corp.example'])
  })

  test('are the first label, too, of a name with a domain', () => {
    const names = machineNames({ hostname: 'web1.corp.example', hosts: '', resolver: '' })
    expect(names).toEqual(['web1.corp.example', 'web1', 'web1.local'])
  })

  test.each(['', '10.0.0.1', '.'])('are none of %j', (hostname) =>
    expect(machineNames({ hostname, hosts: '10.0.0.1 a', resolver: 'search b' })).toEqual([]),
  )
})

test('the host names of origins are taken without scheme and port', () => {
  expect(hostsOfOrigins(['https://data.example.org:8443', null, 'http://[::1]:80', 'none'])).toEqual([
    'data.example.org',
    '[::1]',
  ])
})

describe('BOXYARD_HOSTS', () => {
  test.each(['api.example.org', '*.example.org', 'node_1', 'a-b', 'svc', '10.0.0.1'])('takes %s', (text) =>
    expect(isHostPattern(text)).toBe(true),
  )

  test.each([
    ...['*', '*.', 'a.*', 'https://api.example.org', 'api.example.org:443', 'a b', '', '.a', 'a.', '-a', 'a..b', 'a/b'],
    `${'a'.repeat(64)}.b`,
    `${'a.'.repeat(130)}b`,
  ])(`refuses %j: expected ${HOSTS_EXPECTED}`, (text) => expect(isHostPattern(text)).toBe(false))
})

describe('a request for an unknown host', () => {
  const isAuthorized = hostAuthority({
    verify: ({ authorization }) => (authorization === 'Bearer good' ? Promise.resolve() : Promise.reject(new Error())),
    match: matchOperation,
  })
  const rule = { isKnown, isAuthorized, now: () => 0 }
  const judge = async (target: string, headers: Record<string, string> = {}, method = 'GET'): Promise<string> => {
    const error = await unknownHost(rule, makeRequest(method, target, { headers: { host: 'evil.test', ...headers } }))
    return error === null ? 'passes' : `${error.status} ${error.code}`
  }
  const READ = '/v1/projects/demo/boxes/web/files/read?path=/a'

  test.each([
    ['a valid token', '/healthz', { authorization: 'Bearer good' }, 'GET'],
    ['a ticket for what takes one', `${READ}&ticket=x`, {}, 'GET'],
    ['a ticket for a WebSocket', '/v1/projects/demo/boxes/web/console?ticket=x', {}, 'GET'],
  ])('passes with %s', async (_with, target, headers, method) => {
    expect(await judge(target, headers as Record<string, string>, method)).toBe('passes')
  })

  test.each([
    ['nothing', '/healthz', {}, 'GET'],
    ['a path of no operation', '/sign-in', { accept: 'text/html' }, 'GET'],
    ['a wrong token', '/healthz', { authorization: 'Bearer x' }, 'GET'],
    ['another scheme', '/version', { authorization: 'Basic good' }, 'GET'],
    ['a session', '/v1/me', { 'x-boxyard-session': 'x', cookie: 'y=z' }, 'GET'],
    ['a sign-in link', '/v1/session?ticket=x', {}, 'POST'],
    ['a ticket for what takes none', '/version?ticket=x', {}, 'GET'],
    ['a ticket beside a wrong token', `${READ}&ticket=x`, { authorization: 'Bearer x' }, 'GET'],
  ])('is refused with %s', async (_with, target, headers, method) => {
    expect(await judge(target, headers as Record<string, string>, method)).toBe('421 misdirected_request')
  })

  test('is told the way out, as a page where one is preferred, and reaches no handler', async () => {
    const reached: string[] = []
    const handler = refuseUnknownHosts(rule, async ({ target }) => {
      reached.push(target)
      return jsonResponse(200, {})
    })
    const ask = (headers: Record<string, string>) => handler(makeRequest('GET', '/', { headers }))
    const problem = await ask({ host: '<b>evil.test' })
    expect([problem.status, jsonOf(problem)['code']]).toEqual([421, 'misdirected_request'])
    expect(jsonOf(problem)['detail']).toContain('BOXYARD_HOSTS')
    const page = await ask({ host: '<b>evil.test', accept: 'text/html' })
    expect([page.status, page.headers['content-type']]).toEqual([421, 'text/html; charset=utf-8'])
    expect(page.headers).toMatchObject({ 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff' })
    expect(page.body).toContain('&lt;b&gt;evil.test')
    expect(page.body).toContain('BOXYARD_HOSTS')
    expect(reached).toEqual([])
    expect((await ask({ host: 'localhost' })).status).toBe(200)
  })
})
