import { expect, test } from '@jest/globals'
import { caddyConfig } from '../../../agent/drivers/edge/caddy-config.ts'
import { haproxyConfig } from '../../../agent/drivers/edge/config.ts'
import { edgePaths, frontPaths } from '../../../agent/drivers/edge/names.ts'

const paths = edgePaths('/run/x')
const cells = {
  ...{ host: '127.0.0.1', port: 9, tls: null, secrets: ['a'], digests: ['b'], map: '/run/x/cells.map' },
}
const frontProxy = { socket: '/run/x/front.sock', user: 'caddy', asks: { port: 10, digest: 'a' } }

test.each([
  ['alone', {}],
  ['behind proxies', { trustedProxies: ['10.0.0.0/8'] }],
  ['in a fleet', { cells }],
  ['behind Caddy', { frontProxy }],
])('every answer that HAProxy makes %s has nosniff, and none of a box gets it', (_, changed) => {
  const { text } = haproxyConfig(
    {
      ...{ paths, host: '127.0.0.1', port: 8, frontProxy: null, cells: null, signInHost: 'sign-in.localhost' },
      ...{ scheme: 'http', certificates: null, tokenPrefixes: ['x_'], trustedProxies: [] },
      refusalMark: 'secret',
      limits: { connections: 100, connectionsPerSecond: 10, questionsPerSecond: 10 },
      lua: { path: '/run/x/gate.lua', fingerprint: '' },
      ...changed,
    },
    1,
  )
  const lines = text.split('\n')
  const answers = lines.filter((line) => /^ *(http-error|http-request (return|deny|tarpit|redirect))\b/.test(line))
  expect(answers.length).toBeGreaterThan(20)
  expect(answers.filter((line) => !line.includes(' hdr x-content-type-options nosniff'))).toEqual([])
  // Every frontend answers its own errors and its backends' errors this way.
  const frontends = lines.filter((line) => /^frontend /.test(line)).length
  for (const status of [400, 408, 500, 502, 503, 504])
    expect(lines.filter((line) => line.startsWith(`  http-error status ${status} `)).length).toBeGreaterThanOrEqual(
      frontends,
    )
  expect(lines.filter((line) => /http-(after-)?response .*nosniff/.test(line))).toEqual([])
})

test('every answer that Caddy makes to a client has nosniff', () => {
  const { text } = caddyConfig(
    {
      ...{
        paths: frontPaths('/run/x'),
        host: '127.0.0.1',
        port: 8,
        httpPort: 80,
        seenPort: null,
        email: 'a@example.org',
      },
      ...{ directory: null, roots: null, certificates: [], askUrl: 'http://127.0.0.1:1/x' },
    },
    1,
  )
  const { edge, plain } = (JSON.parse(text) as { apps: { http: { servers: Record<string, unknown> } } }).apps.http
    .servers
  const answers = handlersIn([edge, plain]).filter(({ handler }) => handler === 'static_response')
  expect(answers).toHaveLength(3)
  for (const { headers = {} } of answers) {
    const found = Object.entries(headers).find(([name]) => name.toLowerCase() === 'x-content-type-options')
    expect(found?.[1]).toEqual(['nosniff'])
  }
})

interface Handler {
  handler?: unknown
  headers?: Record<string, unknown>
}

function handlersIn(value: unknown): Handler[] {
  if (typeof value !== 'object' || value === null) return []
  return ['handler' in value ? (value as Handler) : null, ...Object.values(value).flatMap(handlersIn)].filter(
    (found) => found !== null,
  )
}
