import { createServer, type Server } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { WebSocket, WebSocketServer } from 'ws'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { createEdgeLab, type EdgeLab, grantOf, type LabAnswer } from '../../helpers/edge/lab.ts'
import { type OddServer, startOddServer } from '../../helpers/edge/odd-server.ts'
import { eventually } from '../../helpers/eventually.ts'

const HOST = 'web--demo.localhost'
const TOKEN = `${TOKEN_PREFIX}payload.signature`
const MIB = 1024 ** 2

let lab: EdgeLab
const servers: { close(): unknown }[] = []
let lastAddress = 1

beforeAll(async () => {
  lab = createEdgeLab()
  await lab.open()
})
afterAll(async () => {
  for (const server of servers) await server.close()
  await lab.close()
})

/** Routes the host to a port at another address. */
async function lead(to: { address: string; port: number }, rest: { auth?: 'token' } = {}): Promise<void> {
  await lab.edge.change({ set: [lab.route(HOST, to, rest)] })
}

/** Routes the host to an address where nothing listens. Its box has the port on loopback. */
async function leadToLoopback(port: number, rest: { auth?: 'token' } = {}): Promise<string> {
  const address = `127.9.0.${++lastAddress}`
  lab.loopback.set(`${address}:${port}`, port)
  await lead({ address, port }, rest)
  return `${address}:${port}`
}

async function odd(...given: Parameters<typeof startOddServer>): Promise<OddServer> {
  const server = await startOddServer(given[0], given[1] ?? `127.8.0.${++lastAddress}`)
  servers.push(server)
  return server
}

function ask(method = 'GET', ...headers: string[]): Promise<LabAnswer> {
  return lab.ask([`${method} / HTTP/1.1`, `host: ${HOST}`, ...headers])
}

const detailOf = ({ body }: LabAnswer): string => (JSON.parse(body) as { detail: string }).detail

describe('a server on the loopback of a box', () => {
  let server: Server
  let port: number
  let open = 0
  const seen: { method: string; host: string; size: number }[] = []

  beforeAll(async () => {
    server = createServer((incoming, outgoing) => {
      let size = 0
      incoming.on('data', (piece: Buffer) => (size += piece.length))
      incoming.on('end', () => {
        seen.push({ method: incoming.method ?? '', host: incoming.headers.host ?? '', size })
        if (incoming.url === '/large') outgoing.end(Buffer.alloc(8 * MIB, 'x'))
        else if (incoming.url === '/endless') outgoing.write('x')
        else outgoing.end(`got ${size}`)
      })
    })
    server.on('connection', (socket) => {
      open++
      socket.once('close', () => open--)
    })
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
    servers.push({ close: () => (server.close(), server.closeAllConnections(), sockets.close()) })
  })

  test('answers at the URL, whatever the method', async () => {
    await leadToLoopback(port)
    expect(await ask()).toMatchObject({ status: 200, body: 'got 0' })
    expect(await lab.ask(['POST / HTTP/1.1', `host: ${HOST}`, 'content-length: 3'], 'abc')).toMatchObject({
      status: 200,
      body: 'got 3',
    })
    expect(seen).toEqual([
      { method: 'GET', host: HOST, size: 0 },
      { method: 'POST', host: HOST, size: 3 },
    ])
  })

  test('answers several requests of one connection, which has the hosts of two boxes', async () => {
    const other = await lab.startUpstream((_incoming, outgoing) => outgoing.end('other box'))
    await leadToLoopback(port)
    await lab.edge.change({ set: [lab.route('other--demo.localhost', other)] })
    const line = (host: string): string => `GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`
    const text = await lab.say(
      `${line(HOST)}${line('other--demo.localhost')}${line(HOST)}`,
      /got 0[^]*other box[^]*got 0/,
    )
    expect(text.match(/got 0|other box/g)).toEqual(['got 0', 'other box', 'got 0'])
  })

  test('echoes a WebSocket', async () => {
    await leadToLoopback(port)
    const socket = new WebSocket(`ws://127.0.0.1:${lab.edge.port}/`, { headers: { host: HOST } })
    await new Promise((resolve) => socket.once('open', resolve))
    const answer = new Promise<string>((resolve) => socket.once('message', (data: Buffer) => resolve(data.toString())))
    socket.send('x'.repeat(100_000))
    expect((await answer).length).toBe(100_000)
    socket.terminate()
    await eventually(() => open === 0)
  })

  test('takes and sends large bodies, and a client that does not read makes it wait', async () => {
    await leadToLoopback(port)
    const body = 'y'.repeat(3 * MIB)
    const answer = await lab.ask(['PUT / HTTP/1.1', `host: ${HOST}`, `content-length: ${body.length}`], body)
    expect(answer.body).toBe(`got ${body.length}`)
    const socket = connect(lab.edge.port, '127.0.0.1').pause()
    socket.write(`GET /large HTTP/1.1\r\nhost: ${HOST}\r\nconnection: close\r\n\r\n`)
    await eventually(() => open > 0)
    await new Promise((resolve) => setTimeout(resolve, 300))
    // Sockets and buffers in between hold only part of it.
    expect(open).toBe(1)
    let size = 0
    socket.on('data', (piece: Buffer) => (size += piece.length))
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
    expect(size).toBeGreaterThan(8 * MIB)
  })

  test('is told when the client leaves', async () => {
    await leadToLoopback(port)
    const socket = await begin('/endless')
    expect(open).toBe(1)
    socket.destroy()
    await eventually(() => open === 0)
  })

  test('loses its requests when their credential is revoked, or the port is drained', async () => {
    const target = await leadToLoopback(port, { auth: 'token' })
    await lab.edge.grant([grantOf(TOKEN, 'demo')])
    const revoked = await begin('/endless')
    await lab.edge.revoke([grantOf(TOKEN, 'demo').credential])
    await eventually(() => revoked.destroyed && open === 0)
    await leadToLoopback(port)
    await lab.edge.grant([grantOf(TOKEN, 'demo')])
    const next = await leadToLoopback(port, { auth: 'token' })
    expect(next).not.toBe(target)
    const drained = await begin('/endless')
    const [address = ''] = next.split(':')
    await lab.edge.drain({ address, port }, 50)
    await eventually(() => drained.destroyed && open === 0)
  })

  test('is in use while a request is open', async () => {
    await leadToLoopback(port)
    const socket = await begin('/endless')
    expect((await lab.edge.use()).get('box_1')?.open).toBe(1)
    socket.destroy()
    await eventually(async () => (await lab.edge.use()).get('box_1')?.open === 0)
  })

  /** Sends a request whose answer begins and never ends. */
  async function begin(path: string): Promise<Socket> {
    const socket = connect(lab.edge.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${HOST}\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    return socket
  }
})

describe('each cause has its own words', () => {
  const CLOSED = 'closed or reset the connection before it answered.'
  const cases: [string, Parameters<typeof startOddServer>[0], string][] = [
    ['a server that closes', (socket) => socket.end(), CLOSED],
    ['one that resets', (socket) => socket.resetAndDestroy(), CLOSED],
    ['one that closes within its head', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-'), CLOSED],
    [
      'one of another protocol',
      (socket) => socket.write('220 mail.example.org ESMTP\r\n'),
      'something that is not HTTP',
    ],
    ['one of binary bytes', (socket) => socket.write(Buffer.alloc(64)), 'something that is not HTTP'],
    [
      'too large a head',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200_000)}\r\n\r\n`),
      'a head that is too large: the edge takes 64 KiB',
    ],
  ]
  test.each(cases)('at its own address: %s', async (_what, act, words) => {
    const server = await odd(act)
    await lead(server)
    const answer = await ask()
    expect([answer.status, detailOf(answer)]).toEqual([502, expect.stringContaining(words)])
    expect(detailOf(answer)).toContain(`port ${server.port} of this box`)
    const page = await ask('GET', 'accept: text/html')
    expect([page.status, page.body]).toEqual([502, expect.stringContaining(words)])
    expect(page.headers).toContain('content-type: text/html')
  })

  test.each(cases)('on loopback: %s', async (_what, act, words) => {
    const { port } = await odd(act, '127.0.0.1')
    await leadToLoopback(port)
    for (const method of ['GET', 'DELETE']) {
      const answer = await ask(method)
      expect([answer.status, detailOf(answer)]).toEqual([502, expect.stringContaining(words)])
    }
  })

  test.each(['own', 'loopback'])('a server of HTTP/2 without TLS, at its %s address', async (where) => {
    const server = createHttp2Server((_incoming, outgoing) => outgoing.end('h2'))
    server.on('session', (session) => session.on('error', () => undefined))
    const address = where === 'own' ? `127.8.0.${++lastAddress}` : '127.0.0.1'
    await new Promise<void>((resolve) => server.listen(0, address, resolve))
    servers.push({ close: () => server.close() })
    const { port } = server.address() as AddressInfo
    await (where === 'own' ? lead({ address, port }) : leadToLoopback(port))
    for (const method of ['GET', 'DELETE']) {
      const answer = await ask(method)
      // The edge does not repeat unsafe requests to find out.
      const words = where === 'own' && method === 'DELETE' ? 'Send a GET request to see which.' : 'speaks only HTTP/2'
      expect([answer.status, detailOf(answer)]).toEqual([502, expect.stringContaining(words)])
    }
  })

  test('one of HTTP/2 that closes connections without its preface, and says nothing', async () => {
    const server = await odd((socket, received) => {
      if (received.startsWith('PRI * HTTP/2.0')) socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
      else socket.end()
    })
    await lead(server)
    expect(detailOf(await ask())).toContain('speaks only HTTP/2')
  })

  test('nothing listens', async () => {
    await lead({ address: '127.9.0.1', port: 9 })
    const answer = await ask()
    expect([answer.status, detailOf(answer)]).toEqual([502, 'Nothing answers on port 9 of this box.'])
  })

  test('a request that is not safe reaches a server at its own address once', async () => {
    const server = await odd((socket) => socket.end())
    await lead(server)
    const answer = await lab.ask(['POST / HTTP/1.1', `host: ${HOST}`, 'content-length: 3'], 'abc')
    expect([answer.status, detailOf(answer)]).toEqual([
      502,
      expect.stringContaining('Send a GET request to see which.'),
    ])
    expect(server.received.filter((text) => text.startsWith('POST'))).toHaveLength(1)
  })

  test('a request that is not safe is not sent to loopback after a server that got it and has gone', async () => {
    const inside = await odd((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nin'), '127.0.0.1')
    const address = `127.8.0.${++lastAddress}`
    const received: string[] = []
    const own = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', (piece: Buffer) => {
        received.push(piece.toString())
        own.close()
        socket.destroy()
      })
    })
    await new Promise<void>((resolve) => own.listen(inside.port, address, resolve))
    lab.loopback.set(`${address}:${inside.port}`, inside.port)
    await lead({ address, port: inside.port })
    const answer = await lab.ask(['POST / HTTP/1.1', `host: ${HOST}`, 'content-length: 3'], 'abc')
    expect([answer.status, received.length, inside.received]).toEqual([502, 1, []])
  })

  test('only a refused connection leads to loopback', async () => {
    const { port } = await odd((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), '127.0.0.1')
    // No process can connect to a broadcast address.
    const address = '127.255.255.255'
    lab.loopback.set(`${address}:${port}`, port)
    await lead({ address, port })
    const answer = await ask()
    expect([answer.status, detailOf(answer)]).toEqual([502, `Port ${port} of this box takes no connections.`])
  })

  test('of a busy server, and while the agent is away, the answer says less', async () => {
    const server = await odd((socket) => socket.end())
    await lead(server)
    const answers = await Promise.all(Array.from({ length: 80 }, () => ask()))
    expect(answers.every(({ status }) => status === 502)).toBe(true)
    expect(answers.map(detailOf).filter((text) => text.includes('Send a GET request to see which.'))).not.toEqual([])
  })
})
