import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type AcmeServer, startAcmeServer } from '../helpers/edge/acme-server.ts'
import { pidsWith } from '../helpers/edge/processes.ts'
import { askTls, type TlsPlace } from '../helpers/edge/tls-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { createClient } from '../helpers/front/client.ts'
import { freePort, startService, type TestService } from '../helpers/service.ts'

const BOX = '/v1/projects/edge/boxes/web'
const DOMAIN = 'boxes.example.org'
const SERVE = 'mkdir -p /www; echo page > /www/index.html; exec httpd -f -p 8080 -h /www'

let ca: AcmeServer
let service: TestService
let place: TlsPlace
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  const [tlsPort, httpPort] = [await freePort(), await freePort()]
  ca = await startAcmeServer({ tlsPort, httpPort })
  place = { port: tlsPort, ca: ca.issuer }
  service = await startService({
    settings: {
      BOXYARD_DOMAIN: DOMAIN,
      BOXYARD_EDGE_PORT: String(tlsPort),
      BOXYARD_EDGE_ACME: 'admin@example.org',
      BOXYARD_EDGE_ACME_DIRECTORY: ca.directory,
      BOXYARD_EDGE_ACME_ROOT: ca.root,
      BOXYARD_EDGE_RESOLVERS: ca.resolver,
      BOXYARD_RESERVED_DOMAINS: 'api.example.org',
    },
  })
  await client.post('/v1/projects/edge/boxes', { name: 'web', config: { ram_mb: 64 } })
  const command = ['/bin/sh', '-c', SERVE]
  await client.put(`${BOX}/services/page`, { command, port: 8080, readiness: { tcp: true } })
  await client.put(BOX, { url_settings: { auth: 'public' } })
})
afterAll(async () => {
  try {
    await service?.close()
  } finally {
    await ca?.close()
  }
})

/** Returns the answer for a visitor that trusts the test CA. */
async function visit(name: string, headers: Record<string, string> = {}): Promise<string> {
  const { status, text } = await askTls(place, name, { headers })
  return status === 200 ? text : String(status)
}

function caddyPids(): number[] {
  const instance = readFileSync(join(service.dataDir, 'instance'), 'utf8').trim()
  return pidsWith((args) => args[0] === 'caddy' && args.some((arg) => arg.includes(`/${instance}/`)))
}

/** Publishes a domain once its DNS has the record that the refusal names. */
async function publish(domain: string): Promise<number> {
  const refused = await client.post(`${BOX}/publish`, { domains: [domain] })
  const [, name = '', text = ''] = /TXT record (\S+) with the value (\S+) /.exec(refused.body.detail) ?? []
  expect([refused.status, refused.body.code, name]).toEqual([409, 'domain_unverified', `_boxyard-challenge.${domain}`])
  ca.texts.set(name, [text])
  return (await client.post(`${BOX}/publish`, { domains: [domain] })).status
}

test('a domain without its TXT record, or that is reserved, is not published and gets no certificate', async () => {
  const before = ca.orders()
  ca.texts.set('_boxyard-challenge.stolen.example.org', ['boxyard=of-another-project'])
  const answer = await client.post(`${BOX}/publish`, { domains: ['stolen.example.org'] })
  expect([answer.status, answer.body.code]).toEqual([409, 'domain_unverified'])
  const reserved = await client.post(`${BOX}/publish`, { domains: ['api.example.org'] })
  expect([reserved.status, reserved.body.code]).toEqual([400, 'invalid_request'])
  for (const name of ['stolen.example.org', 'api.example.org']) await expect(visit(name)).rejects.toThrow(/alert/)
  expect(ca.orders()).toBe(before)
})

test('a published domain gets its certificate on the first visit, through the HTTPS port only', async () => {
  expect(await publish('shop.example.org')).toBe(200)
  expect(await visit('shop.example.org')).toBe('page\n')
  expect([await visit('shop.example.org'), ca.orders()]).toEqual(['page\n', 1])
  expect(ca.output()).toContain('shop.example.org')
})

test('boxes, services and the sign-in have certificates and https URLs', async () => {
  const { url } = (await client.get(BOX)).body
  expect(url).toBe(`https://web--edge.${DOMAIN}:${place.port}/`)
  for (const name of [`web--edge.${DOMAIN}`, `page--web--edge.${DOMAIN}`]) expect(await visit(name)).toBe('page\n')
  const form = await askTls(place, `sign-in.${DOMAIN}`, { headers: { accept: 'text/html' } })
  expect(form.headers['content-type']).toContain('text/html')
})

test('unknown names get none', async () => {
  const before = ca.orders()
  for (const name of [DOMAIN, `other--edge.${DOMAIN}`, 'other.example.org', '*.example.org']) {
    await expect(visit(name)).rejects.toThrow(/alert/)
  }
  expect(ca.orders()).toBe(before)
})

test('a domain that is unpublished gets none, and is no longer served', async () => {
  const before = ca.orders()
  expect(await publish('late.example.org')).toBe(200)
  await client.post(`${BOX}/unpublish`, {})
  await expect(visit('late.example.org')).rejects.toThrow(/alert/)
  expect([await visit('shop.example.org'), ca.orders()]).toEqual(['404', before])
  expect((await client.post(`${BOX}/publish`, { domains: ['shop.example.org'] })).status).toBe(200)
  expect([await visit('shop.example.org'), ca.orders()]).toEqual(['page\n', before])
})

test('a box reaches neither the check of names nor HAProxy behind Caddy', async () => {
  const instance = readFileSync(join(service.dataDir, 'instance'), 'utf8').trim()
  const port = readFileSync(join('/run/boxyard', instance, 'edge-front/ask-port'), 'utf8')
  const gateway = "$(ip route | awk '/default/ { print $3 }')"
  const tries = ['127.66.79.88', '127.0.0.1', gateway].map(
    (host) => `wget -q -T 2 -O - http://${host}:${port}/ 2>&1; echo "ended $?"`,
  )
  const { body } = await client.post(`${BOX}/exec`, { shell: tries.join('\n') })
  expect(body.stdout.match(/ended 1/g)).toHaveLength(tries.length)
  expect(body.stdout).not.toContain('404')
})

test('it goes on while the agent is killed, and the next one adopts it', async () => {
  const before = ca.orders()
  const pids = caddyPids()
  expect(pids).toHaveLength(1)
  await service.killAgent()
  expect(await visit('shop.example.org')).toBe('page\n')
  await service.startAgent()
  expect([await visit('shop.example.org'), caddyPids(), ca.orders()]).toEqual(['page\n', pids, before])
  expect((await client.get('/v1/health')).body.problems ?? []).toEqual([])
})

test('`down` ends it, and the next start has the certificates', async () => {
  const before = ca.orders()
  await service.killAgent('SIGTERM')
  expect(caddyPids()).toHaveLength(1)
  await service.runAgentMode('down')
  expect(caddyPids()).toEqual([])
  await service.startAgent()
  // The service starts with its box.
  await eventually(async () => (await visit('shop.example.org')) === 'page\n')
  expect(ca.orders()).toBe(before)
})
