import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { WebSocket } from 'ws'
import { createChannelKeys } from '../../../shared/auth/keys.ts'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { askLed, cellEdgeOf, LED_CLIENT, LED_HOST, type LedRequest, leadTo } from '../../helpers/edge/cell-labs.ts'
import { makeCertificate } from '../../helpers/edge/certificates.ts'
import { createEdgeLab, type EdgeLab, grantOf, type Upstream } from '../../helpers/edge/lab.ts'
import { pidsOfEdge } from '../../helpers/edge/processes.ts'
import { eventually } from '../../helpers/eventually.ts'

const HOST = LED_HOST
const PRIVATE = 'private--demo.localhost'
const CLIENT = LED_CLIENT
const { keys } = createChannelKeys()
const bearer = `${TOKEN_PREFIX}x`

let directory: string
let front: EdgeLab
let owner: EdgeLab
let box: Upstream

const ask = (request: Partial<LedRequest> = {}) => askLed({ port: front.edge.port, ...request })

/** Sends a request for the box over TLS, to a port of this host. */
function sayTls(options: { port: number; cert?: Buffer; key?: Buffer }): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', rejectUnauthorized: false, ...options })
    socket.once('error', reject).once('close', () => reject(new Error('closed')))
    socket.once('data', (text: Buffer) => resolve(text.toString()))
    socket.once('secureConnect', () => socket.write(`GET / HTTP/1.1\r\nhost: ${HOST}\r\nconnection: close\r\n\r\n`))
  })
}

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-cells-'))
  makeCertificate(directory, 'authority')
  makeCertificate(directory, 'agent', 'authority')
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe.each(['plain', 'mutual TLS'])('two cells, %s between them', (between) => {
  const tlsFiles = () => ({
    ca: join(directory, 'authority.crt'),
    cert: join(directory, 'agent.crt'),
    key: join(directory, 'agent.key'),
  })

  beforeAll(async () => {
    const cells = { host: '127.0.0.1', port: 0, tls: between === 'plain' ? null : tlsFiles(), keys: () => keys }
    front = createEdgeLab({ cells })
    owner = createEdgeLab({ cells })
    box = await owner.startUpstream()
    const routes = [owner.route(HOST, box), owner.route(PRIVATE, box, { auth: 'token' })]
    await owner.open({ routes, grants: [grantOf(bearer, 'demo'), grantOf('s'.repeat(43), PRIVATE)] })
    await front.open()
    expect([...(await front.edge.problems()), ...(await owner.edge.problems())]).toEqual([])
  })
  afterEach(async () => {
    box.seen.length = 0
    for (const lab of [front, owner]) {
      lab.asked.length = 0
      leadTo(lab, lab === front ? owner : front)
      await lab.edge.lead({ remove: [HOST, PRIVATE, 'unknown--demo.localhost'] })
    }
  })
  afterAll(async () => {
    await front.close()
    await owner.close()
  })

  test('what one is asked for of the other goes there, by its answer or by itself', async () => {
    leadTo(front, owner)
    expect((await ask({ path: '/a?b=1' })).status).toBe(200)
    await front.edge.lead({ set: new Map([[HOST, cellEdgeOf(owner)]]) })
    expect((await ask({ path: '/c', method: 'POST' })).status).toBe(200)
    expect(box.seen.map(({ method, target }) => [method, target])).toEqual([
      ['GET', '/a?b=1'],
      ['POST', '/c'],
    ])
    expect(front.asked).toMatchObject([{ host: HOST, isLed: false, isOwn: false }])
    expect(owner.asked).toEqual([])
    expect((await owner.edge.use()).get('box_1')?.requests).toBeGreaterThanOrEqual(2)
  })

  test('a box sees the client, and nothing of what is between the edges', async () => {
    leadTo(front, owner)
    const forged = {
      'x-forwarded-for': '203.0.113.9',
      'x-boxyard-cell': 'me',
      'x-real-ip': '203.0.113.9',
      forwarded: 'for=203.0.113.9',
    }
    await ask()
    await ask({ headers: forged })
    for (const { headers } of box.seen) {
      expect(headers).toMatchObject({ host: HOST, 'x-forwarded-for': CLIENT, 'x-forwarded-proto': 'http' })
      expect(Object.keys(headers)).not.toContain('x-boxyard-cell')
      expect([headers['x-real-ip'], headers.forwarded]).toEqual([undefined, undefined])
    }
    expect(box.seen).toHaveLength(2)
  })

  test('the owner decides who may pass', async () => {
    leadTo(front, owner)
    expect((await ask({ host: PRIVATE })).status).toBe(404)
    expect(owner.asked).toMatchObject([{ host: PRIVATE, isLed: true, clientAddress: CLIENT }])
    expect((await ask({ host: PRIVATE, headers: { authorization: `Bearer ${bearer}` } })).status).toBe(200)
    const session = { cookie: `__Host-boxyard=${'s'.repeat(43)}`, 'sec-fetch-site': 'same-origin' }
    expect((await ask({ host: PRIVATE, headers: session })).status).toBe(200)
    expect(box.seen.map(({ headers }) => [headers.authorization, headers.cookie])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ])
  })

  test('own pages of a host, and its sign-in, are those of the owner', async () => {
    leadTo(front, owner)
    const page = await ask({ path: '/.boxyard/session?code=x' })
    expect(JSON.parse(page.text)).toMatchObject({ page: '/.boxyard/session?code=x', client: CLIENT })
    expect(front.asked).toMatchObject([{ host: HOST, isOwn: true }])
    const signIn = { host: 'sign-in.localhost', path: `/?host=${HOST}&target=%2F` }
    expect(JSON.parse((await ask(signIn)).text)).toMatchObject({ page: signIn.path, client: CLIENT })
    expect(front.asked[1]).toMatchObject({ host: HOST, isOwn: true })
    // This edge answers requests for hosts that no other cell has.
    const served = (await owner.edge.metrics()).served?.connections.total
    for (const path of ['/', '/?host=%0a%0a', `/?host=${encodeURIComponent('a\nforward 1.2.3.4:5/x|y|public')}`])
      expect((await ask({ host: 'sign-in.localhost', path })).status).toBe(200)
    expect((await owner.edge.metrics()).served?.connections.total).toBe(served)
  })

  test('a WebSocket carries messages both ways, and counts as use at the owner', async () => {
    leadTo(front, owner)
    const socket = new WebSocket(`ws://127.0.0.1:${front.edge.port}/`, { headers: { host: HOST } })
    await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject))
    const echoed = new Promise<string>((resolve) => socket.once('message', (data: Buffer) => resolve(data.toString())))
    socket.send('hello')
    expect(await echoed).toBe('hello')
    expect((await owner.edge.use()).get('box_1')?.open).toBe(1)
    expect((await front.edge.use()).size).toBe(0)
    socket.close()
    await eventually(async () => (await owner.edge.use()).get('box_1')?.open === 0)
  })

  test('what came from another cell is never led on', async () => {
    const lost = 'unknown--demo.localhost'
    for (const [lab, other] of [
      [front, owner],
      [owner, front],
    ] as const) {
      leadTo(lab, other)
      await lab.edge.lead({ set: new Map([[lost, cellEdgeOf(other)]]) })
    }
    expect(await ask({ host: lost })).toMatchObject({ status: 404, text: `nobody has ${lost}` })
    expect(owner.asked).toMatchObject([{ host: lost, isLed: true }])
    expect(front.asked).toEqual([])
  })

  test('a PROXY line of a client is not believed', async () => {
    leadTo(front, owner)
    const text = await front.say(`PROXY TCP4 203.0.113.9 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`)
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(box.seen).toEqual([])
  })

  test('connections between edges are kept, whoever asks', async () => {
    await front.edge.lead({ set: new Map([[HOST, cellEdgeOf(owner)]]) })
    await ask()
    const before = (await owner.edge.metrics()).served?.connections.total ?? 0
    for (let round = 0; round < 20; round++) expect((await ask()).status).toBe(200)
    // HAProxy keeps a few connections for each of its threads.
    expect((await owner.edge.metrics()).served?.connections.total).toBeLessThan(before + 10)
  })

  test('a request that is not sound is refused before it is led', async () => {
    await front.edge.lead({ set: new Map([[HOST, cellEdgeOf(owner)]]) })
    const smuggled = ['POST / HTTP/1.1', `host: ${HOST}`, 'transfer-encoding: chunked', 'transfer-encoding: identity']
    expect((await front.ask(smuggled, '0\r\n\r\n')).status).toBe(400)
    expect((await front.ask(['GET / HTTP/1.1', `host: ${HOST}`, `host: ${PRIVATE}`])).status).toBe(400)
    expect((await front.ask(['TRACE / HTTP/1.1', `host: ${HOST}`])).status).toBe(405)
    expect(box.seen).toEqual([])
  })

  test('a client that comes to the address for edges is refused, whatever it says', async () => {
    const port = owner.edge.cellPort ?? 0
    const forged = { 'x-boxyard-cell': 'f'.repeat(64), 'x-forwarded-for': '203.0.113.9' }
    if (between === 'plain') {
      expect((await ask({ port })).status).toBe(403)
      expect((await ask({ port, headers: forged })).status).toBe(403)
    } else {
      await expect(sayTls({ port })).rejects.toThrow(/certificate required|closed/)
      const { cert, key } = tlsFiles()
      const functions = { port, cert: readFileSync(cert), key: readFileSync(key) }
      expect(await sayTls(functions)).toMatch(/^HTTP\/1\.1 403 /)
    }
    expect(box.seen).toEqual([])
    expect(owner.asked).toEqual([])
  })

  test('an owner that is away is told of, and served again once it is back', async () => {
    await front.edge.lead({ set: new Map([[HOST, cellEdgeOf(owner)]]) })
    const [pid = 0] = pidsOfEdge(owner.runDir)
    await owner.leave()
    process.kill(pid, 'SIGKILL')
    await eventually(() => !pidsOfEdge(owner.runDir).includes(pid))
    const [program, person] = [await ask(), await ask({ headers: { accept: 'text/html' } })]
    expect([program.status, program.type]).toEqual([503, 'application/problem+json'])
    expect(JSON.parse(program.text)).toMatchObject({ code: 'agent_unavailable' })
    expect([person.status, person.type]).toEqual([503, 'text/html; charset=utf-8'])
    await owner.open({ routes: [owner.route(HOST, box)] })
    expect((await ask()).status).toBe(200)
  })
})
