import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from '@jest/globals'
import type { HaproxyEdgeOptions } from '../../../agent/drivers/edge/haproxy.ts'
import { EDGE_REFUSAL_HEADER, edgePaths } from '../../../agent/drivers/edge/names.ts'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { makeCertificate } from '../../helpers/edge/certificates.ts'
import { createEdgeLab, type EdgeLab, grantOf } from '../../helpers/edge/lab.ts'
import { openTls } from '../../helpers/edge/tls-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type CrowdMember, disperse, openCrowd } from '../../helpers/front/crowd.ts'

const OPEN = 'open--demo.localhost'
const SHUT = 'shut--demo.localhost'
const LOUD = 'loud--demo.localhost'
const ALIVE = 'alive--demo.localhost'
const SILENT = 'silent--demo.localhost'
const LIMITS = { connections: 200, connectionsPerSecond: 1_000, questionsPerSecond: 1_000 }
const TOKEN = `${TOKEN_PREFIX}payload.signature`
const HELD = `GET /held HTTP/1.1\r\nhost: ${OPEN}\r\n\r\n`
const PROXY = '127.0.0.77'

let lab: EdgeLab
let directory = ''
const crowds: CrowdMember[][] = []

async function openLab(changed: Partial<HaproxyEdgeOptions>): Promise<void> {
  lab = createEdgeLab(changed)
  const box = await lab.startUpstream((incoming, outgoing) => {
    // The box never answers `/held`.
    if (incoming.url !== '/held') outgoing.end('x')
  })
  await lab.open({ routes: [lab.route(OPEN, box), lab.route(SHUT, box, { auth: 'token' })] })
  lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: '' }))
}

afterEach(async () => {
  disperse(crowds.splice(0).flat())
  await lab.close()
  if (directory !== '') rmSync(directory, { recursive: true, force: true })
})

/** Opens 300 connections from an address and sends `text` on each. Waits until the edge has refused those over the limit. */
async function gather(from: string, text: string, most: number): Promise<CrowdMember[]> {
  const members = await openCrowd(lab.edge.port, 300, { from, text })
  crowds.push(members)
  await eventually(() => stayed(members).length <= most)
  return members
}

const stayed = (members: readonly CrowdMember[]): CrowdMember[] => members.filter(({ isClosed }) => !isClosed)

/** Sends the text from an address. Resolves with the status of the answer, or 0 without an answer. */
async function statusOf(from: string, text: string): Promise<number> {
  const [member] = await openCrowd(lab.edge.port, 1, { from, text })
  await eventually(() => member?.isClosed === true)
  return Number(member?.heard.split(' ')[1] ?? 0)
}

async function openHttp2(localAddress: string): Promise<ClientHttp2Session> {
  const line = await openTls({ port: lab.edge.port, ca: null, localAddress }, 'edge', ['h2'])
  const session = connect(`https://${OPEN}`, { createConnection: () => line })
  session.on('error', () => undefined)
  return session
}

const request = (host: string, ...headers: string[]): string =>
  ['GET / HTTP/1.1', `host: ${host}`, 'connection: close', ...headers, '', ''].join('\r\n')

test.each([
  ['silent connections', ''],
  ['half heads', `GET / HTTP/1.1\r\nhost: ${OPEN}\r\n`],
  ['requests that a box does not answer', HELD],
  ['held bodies', `POST /held HTTP/1.1\r\nhost: ${OPEN}\r\ncontent-length: 9\r\n\r\n`],
])('%s of one address leave half of the connections to others', async (_what, text) => {
  await openLab({ limits: LIMITS })
  const held = await gather('127.0.0.2', text, 100)
  expect(stayed(held).length).toBeGreaterThan(50)
  expect(await statusOf('127.0.0.2', request(OPEN))).toBe(0)
  expect(await statusOf('127.0.0.3', request(OPEN))).toBe(200)
  // Another address gets no more than the rest, and a third one is still served.
  await gather('127.0.0.4', text, 67)
  expect(await statusOf('127.0.0.3', request(OPEN))).toBe(200)
  disperse(held)
  await eventually(async () => (await statusOf('127.0.0.2', request(OPEN))) === 200)
})

test('clients of IPv4 at an address of IPv6 are told apart, and so is a proxy that is trusted', async () => {
  await openLab({ limits: LIMITS, host: '::', trustedProxies: [PROXY] })
  await gather('127.0.0.2', '', 100)
  expect(await statusOf('127.0.0.2', request(OPEN))).toBe(0)
  expect(await statusOf('127.0.0.3', request(OPEN))).toBe(200)
  const forwarded = (client: string): string => request(SHUT, `x-forwarded-for: ${client}`)
  for (const from of [PROXY, '127.0.0.3']) expect(await statusOf(from, forwarded('192.0.2.1'))).toBe(401)
  expect(lab.asked.map(({ clientAddress }) => clientAddress)).toEqual(['192.0.2.1', '127.0.0.3'])
})

test('connections of one address are counted over ten seconds', async () => {
  await openLab({ limits: { ...LIMITS, connectionsPerSecond: 5 } })
  const statuses: number[] = []
  for (let index = 0; index < 60; index++) statuses.push(await statusOf('127.0.0.2', request(OPEN)))
  expect(statuses.slice(0, 45)).not.toContain(0)
  expect(statuses.slice(-5)).toEqual([0, 0, 0, 0, 0])
  expect(await statusOf('127.0.0.3', request(OPEN))).toBe(200)
})

test('requests that the agent must decide are bounded, and what the edge knows goes on', async () => {
  await openLab({ limits: { ...LIMITS, questionsPerSecond: 2 } })
  await lab.edge.grant([grantOf(TOKEN, 'demo')])
  const bearer = `authorization: Bearer ${TOKEN}`
  const statuses: number[] = []
  for (let index = 0; index < 40; index++) statuses.push(await statusOf('127.0.0.2', request(SHUT)))
  expect(statuses.slice(0, 18)).not.toContain(429)
  expect(statuses.slice(-5)).toEqual([429, 429, 429, 429, 429])
  expect(lab.asked.length).toBeLessThan(25)
  for (const [host, ...headers] of [['nobody.example.org'], ['sign-in.localhost'], [OPEN], [SHUT, bearer]] as const) {
    const refused = host === OPEN || headers.length > 0 ? 200 : 429
    expect([host, await statusOf('127.0.0.2', request(host, ...headers))]).toEqual([host, refused])
  }
  expect(await statusOf('127.0.0.3', request(SHUT))).toBe(401)
})

describe('answers of the agent in place of a box', () => {
  const dead = (): string => request(OPEN)
  const forged = { mark: '' }

  /** Routes `OPEN` to a port where nothing listens, and `LOUD` to one whose answers have the agent's header. */
  async function openDead(): Promise<void> {
    await openLab({ limits: { ...LIMITS, questionsPerSecond: 2 } })
    const loud = await lab.startUpstream((_incoming, outgoing) => {
      outgoing.setHeader(EDGE_REFUSAL_HEADER, forged.mark)
      outgoing.end('x')
    })
    const routes = [
      lab.route(OPEN, { address: '127.9.1.2', port: 9 }),
      lab.route(LOUD, loud, { boxId: 'box_2' }),
      lab.route(ALIVE, await lab.startUpstream((_incoming, outgoing) => outgoing.end('x')), { boxId: 'box_3' }),
    ]
    await lab.edge.change({ set: routes })
  }

  test('are bounded for each client, and its requests to other boxes go on', async () => {
    await openDead()
    const statuses: number[] = []
    for (let index = 0; index < 40; index++) statuses.push(await statusOf('127.0.0.2', dead()))
    expect(statuses.slice(0, 18)).toEqual(Array.from({ length: 18 }, () => 502))
    expect(statuses.slice(-5)).toEqual([429, 429, 429, 429, 429])
    expect(await statusOf('127.0.0.2', request(ALIVE))).toBe(200)
    expect(await statusOf('127.0.0.3', dead())).toBe(502)
    const { body } = await lab.ask([`GET / HTTP/1.1`, `host: ${OPEN}`])
    expect(JSON.parse(body)).toMatchObject({ code: 'port_unreachable' })
  })

  test('use up no decisions of their client, and leave its streams to other boxes open', async () => {
    await openDead()
    const bearer = `authorization: Bearer ${TOKEN}`
    const stream = (host: string): string => request(host, bearer, 'accept: text/event-stream')
    const alive = await lab.startUpstream((_incoming, outgoing) => outgoing.end('x'))
    await lab.edge.grant([grantOf(TOKEN, 'demo')])
    const shut = lab.route(SHUT, alive, { auth: 'token', boxId: 'box_4' })
    const silent = lab.route(SILENT, { address: '127.9.1.3', port: 9 }, { auth: 'token', boxId: 'box_5' })
    await lab.edge.change({ set: [shut, silent] })
    const statuses: number[] = []
    for (let index = 0; index < 40; index++) statuses.push(await statusOf('127.0.0.2', stream(SILENT)))
    expect(statuses.slice(0, 18)).toEqual(Array.from({ length: 18 }, () => 502))
    expect(statuses.slice(-5)).toEqual([429, 429, 429, 429, 429])
    for (let index = 0; index < 5; index++) expect(await statusOf('127.0.0.2', stream(SHUT))).toBe(200)
    expect(await statusOf('127.0.0.2', request(SHUT))).toBe(401)
  })

  test('are marked by a header that no client gets', async () => {
    await openDead()
    const { status, headers } = await lab.ask(['GET / HTTP/1.1', `host: ${OPEN}`])
    expect(status).toBe(502)
    expect(headers).not.toContain(EDGE_REFUSAL_HEADER)
    expect(headers).not.toContain(readFileSync(edgePaths(lab.runDir).refusalMark, 'utf8'))
  })

  test.each(['', 'x', '1', '*'])('and no box can have its answers counted: %j', async (mark) => {
    forged.mark = mark
    await openDead()
    for (let index = 0; index < 30; index++) expect(await statusOf('127.0.0.2', request(LOUD))).toBe(200)
    expect(await statusOf('127.0.0.2', request(SHUT))).toBe(401)
    const { headers } = await lab.ask(['GET / HTTP/1.1', `host: ${LOUD}`])
    expect(headers).not.toContain(EDGE_REFUSAL_HEADER)
  })

  test('keep their mark when another agent adopts the edge', async () => {
    await openDead()
    const mark = readFileSync(edgePaths(lab.runDir).refusalMark, 'utf8')
    expect(mark).toMatch(/^[0-9a-f]{64}$/)
    await lab.leave()
    await lab.open({ routes: [lab.route(OPEN, { address: '127.9.1.2', port: 9 })] })
    expect(readFileSync(edgePaths(lab.runDir).refusalMark, 'utf8')).toBe(mark)
    const statuses: number[] = []
    for (let index = 0; index < 40; index++) statuses.push(await statusOf('127.0.0.4', dead()))
    expect(statuses.at(-1)).toBe(429)
  })
})

test('requests that share connections of HTTP/2 are bounded as those that do not', async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-certificates-'))
  const { cert, key } = makeCertificate(directory, 'edge')
  mkdirSync(join(directory, 'served'))
  writeFileSync(join(directory, 'served/edge.pem'), `${cert}${key}`)
  await openLab({ limits: LIMITS, certificates: join(directory, 'served'), scheme: 'https' })
  const session = await openHttp2('127.0.0.2')
  const other = await openHttp2('127.0.0.3')
  const third = await openHttp2('127.0.0.2')
  let refused = 0
  const ask = (from: ClientHttp2Session, path: string): Promise<number> =>
    new Promise((resolve) => {
      const stream = from.request({ ':path': path, ':authority': OPEN })
      stream.on('error', () => undefined)
      stream.once('response', ({ ':status': status }) => {
        refused += status === 429 ? 1 : 0
        resolve(Number(status))
      })
      stream.resume()
    })
  for (let index = 0; index < 90; index++) for (const from of [session, third]) void ask(from, '/held')
  await eventually(() => refused >= 80)
  expect(refused).toBeLessThan(120)
  expect(await ask(third, '/')).toBe(429)
  expect(await ask(other, '/')).toBe(200)
  session.destroy()
  third.destroy()
  other.destroy()
})

test('behind a proxy that is trusted each client is bounded, and the proxy is not', async () => {
  await openLab({ limits: LIMITS, trustedProxies: [PROXY] })
  const of = (client: string, text: string): string =>
    text.replace('\r\n\r\n', `\r\nx-forwarded-for: ${client}\r\n\r\n`)
  const members = await openCrowd(lab.edge.port, 150, { from: PROXY, text: of('2001:db8:1:2::3', HELD) })
  crowds.push(members)
  const refused = (): number => members.filter(({ heard }) => heard.includes(' 429 ')).length
  await eventually(() => refused() >= 45)
  expect(refused()).toBeLessThanOrEqual(60)
  // An address in the same /64, and one in another /64.
  expect(await statusOf(PROXY, of('2001:db8:1:2::4', request(OPEN)))).toBe(429)
  expect(await statusOf(PROXY, of('2001:db8:1:3::4', request(OPEN)))).toBe(200)
  expect(await statusOf(PROXY, of('192.0.2.1', request(OPEN)))).toBe(200)
})
