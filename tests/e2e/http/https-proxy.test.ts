import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { agentCommand } from '../../../infra/commands.ts'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { PageReader, partOf, settingsIn } from '../../helpers/clients/page-reader.ts'
import { makeSites } from '../../helpers/edge/sites.ts'
import { askTls, openTls } from '../../helpers/edge/tls-client.ts'
import { untilSucceeds } from '../../helpers/eventually.ts'
import { openStream } from '../../helpers/exec/stream-client.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { freePort } from '../../helpers/service.ts'

const PAGE = 'docs/how-to/https-and-domain.md'
const PART = 'Recipe: one proxy for everything'
const API = 'api.example.org'
/** Address of the page's host names here, with the ports of the page. */
const HOST = `127.77.${(process.pid >> 8) & 255}.${process.pid & 255 || 1}`
let port: number
let proxy: ChildProcess | null = null

const commandLine = useCommandLine(
  useOwnService(async () => {
    port = await freePort()
    return { settings: { BOXYARD_EDGE_PORT: String(await freePort()), ...documentedSettings() } }
  }),
)
const { client, directory, service } = commandLine
const path = (name: string): string => join(directory(), name)
const place = () => ({ port, ca: readFileSync(path('ca.pem'), 'utf8') })

const reader = new PageReader({
  page: PAGE,
  part: PART,
  commandLine,
  here: (text) =>
    text === 'boxyard doctor' ? doctor() : text.replace('/etc/haproxy/boxyard.pem', path('boxyard.pem')),
  enter: () => `unshare --mount --propagation private bash ${path('enter')}`,
  env: () => ({ ...FROM_LOGIN, CURL_CA_BUNDLE: path('ca.pem'), NODE_EXTRA_CA_CERTS: path('ca.pem') }),
  perform: (command) => (command === 'systemctl restart haproxy boxyard-agent boxyard-front' ? startProxy() : null),
})
/** Unsets the variables, so that the page's own login applies. */
const FROM_LOGIN = { BOXYARD_URL: '', BOXYARD_TOKEN: '' }

/** Returns the command that the package installs as /usr/bin/boxyard, with the settings of this service. */
function doctor(): string {
  const settings = Object.entries(service().environment).map(([name, value = '']) => `'${name}=${value}'`)
  return `env -i ${settings.join(' ')} ${agentCommand(['doctor']).join(' ')}`
}

async function startProxy(): Promise<void> {
  writeFileSync(path('haproxy.cfg'), await documentedProxy(path('boxyard.pem')))
  proxy = spawn('haproxy', ['-db', '-f', path('haproxy.cfg')], { stdio: ['ignore', 'ignore', 'inherit'] })
  await untilSucceeds(async () => void (await openTls(place(), API)).destroy())
}

beforeAll(() => {
  const names = [API, 'data.example.org', 'web--demo.boxes.example.org']
  writeFileSync(path('hosts'), `127.0.0.1 localhost\n${HOST} ${names.join(' ')}\n`)
  writeFileSync(path('enter'), `mount --bind ${path('hosts')} /etc/hosts && exec "$@"\n`)
  writeFileSync(path('token'), service().adminToken)
})

afterAll(() => void proxy?.kill())

test.each(reader.commands)('line $line: $command', (command) => reader.follow(command))

test('the documented proxy serves the API by HTTPS, and tells it who asks', async () => {
  await makeSites(client, { page: 'public' })
  const authorization = `Bearer ${service().adminToken}`
  expect(await askTls(place(), API, { path: '/v1/me', headers: { authorization } })).toMatchObject({ status: 200 })
  // Without a token, the front answers this only at known host names. The proxy forwards the name.
  expect(await askTls(place(), API, { path: '/version' })).toMatchObject({ status: 200 })
  expect((await openTls(place(), API, ['h2'])).end().alpnProtocol).toBe('h2')
})

test('a ticket leads to the data address, whose WebSockets pass the proxy', async () => {
  const box = '/v1/projects/browser/boxes/page'
  const { url } = (await client.post(`${box}/tickets`, { operation: 'streamExec', query: { command: 'id' } })).body
  expect(url).toMatch(`wss://data.example.org/`)
  const DATA = 'data.example.org'
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

test('the command line refuses the proxy without its CA', async () => {
  const { code, stderr } = await commandLine.run(['ls'], { env: { BOXYARD_URL: `https://localhost:${port}` } })
  expect([code, stderr]).toEqual([1, expect.stringMatching(/certificate/)])
})

function documentedSettings(): Record<string, string> {
  const settings = settingsIn(partOf(PAGE, PART).text)
  expect(Object.keys(settings).length).toBeGreaterThan(4)
  return settings
}

/** Returns the page's proxy configuration, with the ports and paths of this test. */
async function documentedProxy(pem: string): Promise<string> {
  const { environment } = service()
  const ports: [string, string | undefined][] = [
    ['bind :80\n', `bind 127.0.0.1:${await freePort()}\n`],
    ['bind :443 ', `bind ${HOST}:443,127.0.0.1:${port} `],
    ['/etc/haproxy/boxyard.pem', pem],
    ['127.0.0.1:8080', `127.0.0.1:${environment['BOXYARD_PORT']}`],
    ['127.0.0.1:8091', `127.0.0.1:${environment['BOXYARD_DATA_PORT']}`],
    ['127.0.0.1:8081', `127.0.0.1:${environment['BOXYARD_EDGE_PORT']}`],
  ]
  return ports.reduce(
    (text, [from, to = '']) => {
      expect(text).toContain(from)
      return text.replace(from, to)
    },
    /^```haproxy\n([^]*?)^```$/m.exec(partOf(PAGE, PART).text)?.[1] ?? '',
  )
}
