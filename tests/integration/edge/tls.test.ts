import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { WebSocket } from 'ws'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { makeCertificate } from '../../helpers/edge/certificates.ts'
import { createEdgeLab, type EdgeLab, grantOf, type Upstream } from '../../helpers/edge/lab.ts'
import { eventually } from '../../helpers/eventually.ts'

const HOST = 'shop.example.org'

let directory: string
let certificates: string
let lab: EdgeLab
let shop: Upstream

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-certificates-'))
  certificates = join(directory, 'served')
  mkdirSync(certificates)
  install('first')
  lab = createEdgeLab({ certificates, scheme: 'https' })
  shop = await lab.startUpstream()
  await lab.open({ routes: [lab.route(HOST, shop)] })
})
afterAll(async () => {
  await lab.close()
  rmSync(directory, { recursive: true, force: true })
})

function install(name: string): void {
  const { cert, key } = makeCertificate(directory, name)
  writeFileSync(join(certificates, 'edge.pem'), `${cert}${key}`)
}

function openTls(options: object = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const given = { host: '127.0.0.1', port: lab.edge.port, servername: HOST, rejectUnauthorized: false }
    const socket = connectTls({ ...given, ...options }, () => resolve(socket))
    socket.once('error', reject)
  })
}

async function servedName(): Promise<string | undefined> {
  const socket = await openTls()
  const name = socket.getPeerCertificate().subject.CN
  socket.destroy()
  return [name].flat()[0]
}

/** Sends one HTTP/2 request with these pseudo headers, and returns its status. */
async function askHttp2(headers: Record<string, string>): Promise<number> {
  const [status = 0] = await askAllHttp2([headers])
  return status
}

/** Sends these requests at once over one HTTP/2 connection, and returns their statuses. */
function askAllHttp2(requests: readonly Record<string, string>[]): Promise<number[]> {
  const session = connectHttp2(`https://127.0.0.1:${lab.edge.port}`, { rejectUnauthorized: false })
  const answered = new Promise<number[]>((resolve, reject) => {
    session.once('error', reject)
    const statuses = requests.map(
      (headers) =>
        new Promise<number>((resolveOne, rejectOne) => {
          const stream = session.request(headers)
          stream.once('response', (answer) => resolveOne(Number(answer[':status'])))
          stream.once('error', rejectOne)
          stream.resume()
        }),
    )
    Promise.all(statuses).then(resolve, reject)
  })
  return answered.finally(() => session.destroy())
}

test('clients may speak HTTP/2 or HTTP/1.1, over TLS 1.2 at least', async () => {
  const [h2, h1] = await Promise.all([
    openTls({ ALPNProtocols: ['h2', 'http/1.1'] }),
    openTls({ ALPNProtocols: ['http/1.1'] }),
  ])
  expect([h2.alpnProtocol, h1.alpnProtocol]).toEqual(['h2', 'http/1.1'])
  h2.destroy()
  h1.destroy()
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }
  await expect(openTls(old)).rejects.toThrow()
})

test('a request of HTTP/2 reaches the box it names, and no other', async () => {
  shop.seen.length = 0
  expect(await askHttp2({ ':path': '/a?b', ':authority': HOST })).toBe(200)
  expect(shop.seen).toMatchObject([
    { target: '/a?b', headers: { host: HOST, 'x-forwarded-proto': 'https', 'x-forwarded-for': '127.0.0.1' } },
  ])
  for (const authority of ['other.example.org', `user@${HOST}`, `${HOST}%2e`]) {
    expect([400, 404]).toContain(await askHttp2({ ':path': '/', ':authority': authority }).catch(() => 400))
  }
  const two = { ':path': '/', ':authority': 'other.example.org', host: HOST }
  expect([400, 404]).toContain(await askHttp2(two).catch(() => 400))
  expect(shop.seen).toHaveLength(1)
  expect(lab.asked.map(({ target, isSecure }) => [target, isSecure])).toContainEqual(['/', true])
})

test('each of the requests that share a connection of HTTP/2 has the rights of its own bearer', async () => {
  const name = 'shut.example.org'
  await lab.edge.change({ set: [lab.route(name, shop, { auth: 'token' })] })
  const tokens = ['one', 'two', 'three'].map((part) => `${TOKEN_PREFIX}${part}`)
  await lab.edge.grant([grantOf(tokens[0] ?? '', 'demo'), grantOf(tokens[1] ?? '', 'demo')])
  lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: '' }))
  const requests = Array.from({ length: 60 }, (_, index) => {
    const authorization = `Bearer ${tokens[index % 3]}`
    return { ':path': '/', ':authority': name, ...(index % 7 === 6 ? {} : { authorization }) }
  })
  const expected = requests.map((_, index) => (index % 3 === 2 || index % 7 === 6 ? 401 : 200))
  expect(await askAllHttp2(requests)).toEqual(expected)
})

test('a WebSocket opens', async () => {
  const socket = new WebSocket(`wss://127.0.0.1:${lab.edge.port}/`, {
    headers: { host: HOST },
    rejectUnauthorized: false,
  })
  await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject))
  socket.terminate()
})

test('a new certificate is loaded by itself, and an invalid one is reported and changes nothing', async () => {
  expect(await servedName()).toBe('first')
  install('second')
  await eventually(async () => (await servedName()) === 'second', 250)
  expect(await lab.edge.problems()).toEqual([])
  writeFileSync(join(certificates, 'edge.pem'), 'no certificate\n')
  await eventually(async () => (await lab.edge.problems()).length > 0, 250)
  expect((await lab.edge.problems())[0]?.code).toBe('edge_outdated')
  expect(await servedName()).toBe('second')
  install('third')
  await eventually(async () => (await servedName()) === 'third', 250)
  await eventually(async () => (await lab.edge.problems()).length === 0, 250)
})
