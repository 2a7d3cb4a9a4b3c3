import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { createServer as createNetServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { WebSocket } from 'ws'
import { createEdgeLab, type EdgeLab, type Upstream } from '../../helpers/edge/lab.ts'
import { eventually } from '../../helpers/eventually.ts'
import { openConversation } from '../../helpers/front/http-server.ts'

const HOST = 'shop--demo.localhost'
const SIZE = 100 * 1024 * 1024

let lab: EdgeLab
let shop: Upstream

beforeAll(async () => {
  lab = createEdgeLab()
  shop = await lab.startUpstream()
  await lab.open({ routes: [lab.route(HOST, shop)] })
})
afterAll(() => lab.close())

function openSocket(host = HOST, path = '/'): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${lab.edge.port}${path}`, { headers: { host } })
  return new Promise((resolve, reject) => socket.once('open', () => resolve(socket)).once('error', reject))
}

describe('streams', () => {
  test('a WebSocket carries messages both ways, and counts as open', async () => {
    const socket = await openSocket()
    const big = Buffer.alloc(1024 * 1024, 7)
    socket.send(big)
    const [data] = (await once(socket, 'message')) as [Buffer]
    expect(data.equals(big)).toBe(true)
    expect((await lab.edge.use()).get('box_1')?.open).toBe(1)
    socket.close()
    await eventually(async () => (await lab.edge.use()).get('box_1')?.open === 0)
  })

  test('an event reaches the client before the next is made', async () => {
    const events = await lab.startUpstream((incoming, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      outgoing.write('data: 0\n\n')
      // Sends each event only after the client's request for it.
      shop.server.on('request', ({ url }) => void (url === '/next' && outgoing.write('data: 1\n\n')))
      incoming.once('close', () => outgoing.end())
    })
    await lab.edge.change({ set: [lab.route('events.localhost', events)] })
    const client = openConversation(lab.edge.port)
    client.say('GET / HTTP/1.1\r\nhost: events.localhost\r\n\r\n')
    await eventually(() => client.heard().includes('data: 0'))
    await lab.ask(['GET /next HTTP/1.1', `host: ${HOST}`])
    await eventually(() => client.heard().includes('data: 1'))
    client.socket.destroy()
  })

  test('100 MB go up and down unchanged, and neither waits for its end', async () => {
    const mirror = await lab.startUpstream((incoming, outgoing) => incoming.pipe(outgoing))
    await lab.edge.change({ set: [lab.route('mirror.localhost', mirror)] })
    const sent = createHash('sha256')
    const heard = createHash('sha256')
    let size = 0
    await new Promise<void>((resolve, reject) => {
      const upload = request({
        host: '127.0.0.1',
        port: lab.edge.port,
        method: 'PUT',
        headers: { host: 'mirror.localhost' },
      })
      upload.once('error', reject)
      upload.once('response', (answer) => {
        answer.on('data', (piece: Buffer) => {
          size += piece.length
          heard.update(piece)
        })
        answer.once('close', () => (answer.complete ? resolve() : reject(new Error(`cut off after ${size} bytes`))))
      })
      const send = async (): Promise<void> => {
        for (let done = 0; done < SIZE; done += 1024 * 1024) {
          const piece = Buffer.alloc(1024 * 1024, done / 1024 / 1024)
          sent.update(piece)
          if (!upload.write(piece)) await once(upload, 'drain')
          // Part of the response arrives while the client still sends the request.
          if (done === SIZE / 2) await eventually(() => size > 0)
        }
        upload.end()
      }
      send().catch(reject)
    })
    expect(size).toBe(SIZE)
    expect(heard.digest('hex')).toBe(sent.digest('hex'))
  })

  test('a client that awaits 100 Continue gets it from the box', async () => {
    const client = openConversation(lab.edge.port)
    client.say(
      `POST / HTTP/1.1\r\nhost: ${HOST}\r\ncontent-length: 3\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n`,
    )
    await eventually(() => client.heard().includes('100 Continue'))
    client.say('abc')
    await client.closed
    expect(client.heard()).toContain('"size":3')
  })
})

describe('a box that fails', () => {
  test.each([
    ['closes without an answer', ''],
    ['answers what is not HTTP', 'garbage\r\n\r\n'],
    ['answers half a head', 'HTTP/1.1 200 OK\r\ncontent-le'],
  ])('one that %s is reported as failing', async (_name, bytes) => {
    const server = createNetServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(bytes))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.90', resolve))
    const { port } = server.address() as { port: number }
    await lab.edge.change({ set: [lab.route('failing.localhost', { address: '127.0.0.90', port })] })
    const { status, body } = await lab.ask(['POST / HTTP/1.1', 'host: failing.localhost', 'content-length: 0'])
    expect(status).toBe(502)
    expect(JSON.parse(body)).toMatchObject({ code: 'port_unreachable', detail: expect.stringContaining(String(port)) })
    server.close()
  })

  test('an error response of a box stays as it is', async () => {
    const box = await lab.startUpstream((_incoming, outgoing) => outgoing.writeHead(503, { 'x-own': '1' }).end('mine'))
    await lab.edge.change({ set: [lab.route('erring.localhost', box)] })
    const { status, body } = await lab.ask(['GET / HTTP/1.1', 'host: erring.localhost'])
    expect([status, body]).toEqual([503, expect.stringContaining('mine')])
  })
})

describe('draining', () => {
  test('ends when the last request does', async () => {
    const finish: (() => void)[] = []
    const slow = await lab.startUpstream((_incoming, outgoing) => finish.push(() => outgoing.end('done')))
    await lab.edge.change({ set: [lab.route('slow.localhost', slow)] })
    const answer = lab.ask(['GET / HTTP/1.1', 'host: slow.localhost'])
    await eventually(() => finish.length === 1)
    await lab.edge.change({ set: [lab.route('slow.localhost', shop)] })
    let isDrained = false
    const drained = lab.edge.drain(slow, 60_000).then(() => (isDrained = true))
    // Other hosts are not drained.
    expect((await lab.ask(['GET / HTTP/1.1', 'host: slow.localhost'])).status).toBe(200)
    expect(isDrained).toBe(false)
    finish[0]?.()
    await drained
    expect(await answer).toMatchObject({ status: 200, body: 'done' })
  })

  test('cuts off what is open after the grace, and nothing else', async () => {
    const old = await lab.startUpstream()
    await lab.edge.change({ set: [lab.route('cut.localhost', old)] })
    const doomed = await openSocket('cut.localhost')
    const other = await openSocket()
    await lab.edge.change({ set: [lab.route('cut.localhost', shop)] })
    const closed = once(doomed, 'close')
    await lab.edge.drain(old, 50)
    await closed
    other.send('still here')
    expect(String((await once(other, 'message'))[0])).toBe('still here')
    other.terminate()
  })

  test('a connection kept alive to the old target serves no request of the new', async () => {
    const old = await lab.startUpstream()
    await lab.edge.change({ set: [lab.route('moving.localhost', old)] })
    const client = openConversation(lab.edge.port)
    const answers = (): number => client.heard().split('HTTP/1.1 200').length - 1
    client.say('GET /1 HTTP/1.1\r\nhost: moving.localhost\r\n\r\n')
    await eventually(() => answers() === 1)
    await lab.edge.change({ set: [lab.route('moving.localhost', shop)] })
    client.say('GET /2 HTTP/1.1\r\nhost: moving.localhost\r\n\r\n')
    await eventually(() => answers() === 2)
    client.socket.destroy()
    expect(old.seen.map(({ target }) => target)).toEqual(['/1'])
    expect(shop.seen.map(({ target }) => target)).toContain('/2')
  })
})

describe('while the agent is away', () => {
  test('a request that needs a decision waits for the next agent, with its body', async () => {
    await lab.leave()
    const answer = lab.ask(['POST / HTTP/1.1', 'host: waking.localhost', 'content-length: 4'], 'body')
    const page = lab.ask(['GET /.boxyard/x HTTP/1.1', `host: ${HOST}`])
    expect((await lab.ask(['GET / HTTP/1.1', `host: ${HOST}`])).status).toBe(200)
    lab.decide((question) => ({ kind: 'forward', route: lab.route(question.host, shop) }))
    await lab.open({ routes: [lab.route(HOST, shop)] })
    expect(JSON.parse((await answer).body)).toMatchObject({ size: 4 })
    expect((await page).status).toBe(200)
  })

  test('the wait has an end', async () => {
    await lab.leave()
    const [{ status, body }, page] = await Promise.all([
      lab.ask(['GET / HTTP/1.1', 'host: waiting.localhost']),
      lab.ask(['GET /.boxyard/x HTTP/1.1', `host: ${HOST}`]),
    ])
    expect(status).toBe(503)
    expect(JSON.parse(body)).toMatchObject({ code: 'agent_unavailable', retryable: true })
    expect(page.status).toBe(503)
    expect(JSON.parse(page.body)).toMatchObject({ code: 'agent_unavailable' })
    await lab.open({ routes: [lab.route(HOST, shop)] })
  })
})

test('slow heads are cut off without blocking others, and a decision may take longer than a head', async () => {
  const slow = Array.from({ length: 300 }, () => {
    const client = openConversation(lab.edge.port)
    client.say('GET / HTTP/1.1\r\nhost: ')
    return client
  })
  lab.decide(async (question) => {
    await pause(17_000)
    return { kind: 'forward', route: lab.route(question.host, shop) }
  })
  const decided = lab.ask(['POST / HTTP/1.1', 'host: slow-start.localhost', 'content-length: 4'], 'body')
  expect((await lab.ask(['GET / HTTP/1.1', `host: ${HOST}`])).status).toBe(200)
  await eventually(() => slow.every((client) => client.isClosed()))
  expect(slow[0]?.heard()).toMatch(/^HTTP\/1\.1 408/)
  const { status, body } = await decided
  expect(status).toBe(200)
  expect(JSON.parse(body)).toMatchObject({ size: 4 })
})

test('a HEAD that the gate answers has no body', async () => {
  lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: 'a body' }))
  const text = await lab.say('HEAD / HTTP/1.1\r\nhost: no.localhost\r\nconnection: close\r\n\r\n')
  expect(text).toMatch(/^HTTP\/1\.1 401/)
  expect(text).not.toContain('a body')
})

test('1,000 names come and go while WebSockets stay open', async () => {
  const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket()))
  const names = Array.from({ length: 1_000 }, (_, index) => `name-${index}.example.org`)
  await lab.edge.change({ set: names.map((name) => lab.route(name, shop)) })
  const some = names.filter((_name, index) => index % 97 === 0)
  for (const name of some) expect((await lab.ask(['GET / HTTP/1.1', `host: ${name}`])).status).toBe(200)
  await lab.edge.change({ remove: names })
  lab.decide(() => ({ kind: 'answer', status: 404, headers: {}, body: '' }))
  for (const name of some) expect((await lab.ask(['GET / HTTP/1.1', `host: ${name}`])).status).toBe(404)
  for (const socket of sockets) {
    expect(socket.readyState).toBe(WebSocket.OPEN)
    socket.terminate()
  }
})
