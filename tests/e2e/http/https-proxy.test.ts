import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { certifyHosts } from '../../helpers/edge/certificates.ts'
import { makeSites } from '../../helpers/edge/sites.ts'
import { askTls, openTls } from '../../helpers/edge/tls-client.ts'
import { untilSucceeds } from '../../helpers/eventually.ts'
import { openStream } from '../../helpers/exec/stream-client.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { freePort } from '../../helpers/service.ts'

const PAGE = readFileSync(join(ROOT, 'docs/access.md'), 'utf8')
const API = 'api.example.org'
const DATA = 'data.example.org'
let port: number
let proxy: ChildProcess

const commandLine = useCommandLine(
  useOwnService(async () => {
    port = await freePort()
    return { settings: { BOXYARD_EDGE_PORT: String(await freePort()), ...documentedSettings() } }
  }),
)
const { client, directory, service } = commandLine
const place = () => ({ port, ca: readFileSync(join(directory(), 'authority.crt'), 'utf8') })

beforeAll(async () => {
  const { cert, key } = certifyHosts(directory(), 'proxy', [API, DATA, '*.boxes.example.org'])
  const pem = join(directory(), 'boxyard.pem')
  writeFileSync(pem, `${cert}${key}`)
  writeFileSync(join(directory(), 'haproxy.cfg'), await documentedProxy(pem))
  proxy = spawn('haproxy', ['-db', '-f', join(directory(), 'haproxy.cfg')], { stdio: ['ignore', 'ignore', 'inherit'] })
  await untilSucceeds(async () => void (await openTls(place(), API)).destroy())
  await makeSites(client, { page: 'public' })
})

afterAll(() => void proxy.kill())

test('the documented proxy serves the API by HTTPS, and tells it who asks', async () => {
  const authorization = `Bearer ${service().adminToken}`
  expect(await askTls(place(), API, { path: '/v1/me', headers: { authorization } })).toMatchObject({ status: 200 })
  // What needs no token is answered at known names alone: the proxy passes the name on.
  expect(await askTls(place(), API, { path: '/version' })).toMatchObject({ status: 200 })
  expect((await openTls(place(), API, ['h2'])).end().alpnProtocol).toBe('h2')
})

test('a ticket leads to the data address, whose WebSockets pass the proxy', async () => {
  const box = '/v1/projects/browser/boxes/page'
  const { url } = (await client.post(`${box}/tickets`, { operation: 'streamExec', query: { command: 'id' } })).body
  expect(url).toMatch(`wss://${DATA}/`)
  const trust = { headers: { host: DATA }, servername: DATA, ca: place().ca }
  const stream = await openStream(url.replace(DATA, `127.0.0.1:${port}`), trust)
  await stream.closed
  expect(stream.text(1)).toContain('uid=0')
})

test('the URL of a box names the proxy, and the box is told who asks', async () => {
  const { url } = (await client.get('/v1/projects/browser/boxes/page')).body
  expect(url).toBe('https://page--browser.boxes.example.org/')
  const headers = { 'x-forwarded-for': '203.0.113.9' }
  expect(await askTls({ ...place(), localAddress: '127.0.0.7' }, new URL(url).host, { headers })).toMatchObject({
    status: 200,
  })
  const heard = (await client.shell('browser', 'page', 'cat /tmp/heard')).body.stdout
  expect(heard).toContain('x-forwarded-for: 127.0.0.7')
  expect(heard).not.toContain('203.0.113.9')
})

test('the command line trusts a CA of its own, and refuses the proxy without it', async () => {
  const url = `https://localhost:${port}`
  const trusting = { BOXYARD_URL: url, NODE_EXTRA_CA_CERTS: join(directory(), 'authority.crt') }
  expect(await commandLine.run(['ls'], { env: { BOXYARD_URL: url } })).toMatchObject({ code: 1, stdout: '' })
  const { stderr } = await commandLine.run(['ls'], { env: trusting })
  // The names of the documented certificate do not resolve here; that it is trusted shows in what is complained of.
  expect(stderr).toMatch(/localhost.*not in the cert|altnames/)
})

/** The settings that the page exports for Boxyard. */
function documentedSettings(): Record<string, string> {
  const section = sectionOf('```sh\n')
  const pairs = [...section.matchAll(/\b(BOXYARD_\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])
  expect(pairs.length).toBeGreaterThan(4)
  return Object.fromEntries(pairs) as Record<string, string>
}

/** The page's configuration, with the ports and paths of this test. */
async function documentedProxy(pem: string): Promise<string> {
  const { environment } = service()
  const ports: [string, string | undefined][] = [
    ['bind :80\n', `bind 127.0.0.1:${await freePort()}\n`],
    ['bind :443 ', `bind 127.0.0.1:${port} `],
    ['/etc/haproxy/boxyard.pem', pem],
    ['127.0.0.1:8080', `127.0.0.1:${environment['BOXYARD_PORT']}`],
    ['127.0.0.1:8091', `127.0.0.1:${environment['BOXYARD_DATA_PORT']}`],
    ['127.0.0.1:8081', `127.0.0.1:${environment['BOXYARD_EDGE_PORT']}`],
  ]
  return ports.reduce((text, [from, to = '']) => {
    expect(text).toContain(from)
    return text.replace(from, to)
  }, sectionOf('```haproxy\n'))
}

/** The first block of the page's part on HTTPS that begins so. */
function sectionOf(beginning: string): string {
  const part = PAGE.slice(PAGE.indexOf('## HTTPS\n'))
  const start = part.indexOf(beginning) + beginning.length
  return part.slice(start, part.indexOf('```', start))
}
