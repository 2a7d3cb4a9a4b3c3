import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { joinSockets } from '../../../shared/http/joined-sockets.ts'
import { SERVER_OPTIONS, serve } from '../../../shared/http/serve.ts'
import { eventually } from '../../helpers/eventually.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const closers: (() => void)[] = []

afterEach(() => {
  for (const close of closers.splice(0)) close()
})

test('both sides probe an idle peer, which may have lost its power', async () => {
  const owner = await listen(createServer((socket) => void closers.push(() => socket.destroy())))
  const { promise, resolve } = Promise.withResolvers<[Socket, Socket]>()
  const door = createServer((client) => {
    const other = connect(owner, '127.0.0.1', () => resolve([client, other]))
    void joinSockets(client, other)
  })
  const client = connect(await listen(door), '127.0.0.1')
  closers.push(() => client.destroy())
  for (const socket of await promise) {
    const { timer, seconds } = timerOf(socket)
    expect(timer).toBe(KEEP_ALIVE)
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(30)
  }
})

test('a side that waits reads one piece, though its server gives more room to answers', async () => {
  const owner = await listen(createServer((socket) => void closers.push(() => socket.pause().destroy())))
  const { promise, resolve } = Promise.withResolvers<Socket>()
  const door = createHttpServer(SERVER_OPTIONS)
  serve(door, { handler: () => Promise.reject(new Error('no request')), logger: silentLogger, now: Date.now })
  door.on('upgrade', (_incoming, client: Socket) => {
    void joinSockets(client, connect(owner, '127.0.0.1'))
    resolve(client)
  })
  const client = connect(await listen(door), '127.0.0.1')
  closers.push(() => client.destroy())
  client.write(HANDSHAKE)
  const joined = await promise
  const piece = Buffer.alloc(1024 ** 2)
  const send = (): void => void (client.write(piece) && setImmediate(send))
  client.on('drain', send)
  send()
  await eventually(() => joined.isPaused() && joined.readableLength > 0)
  for (let look = 0; look < 20; look++) {
    // A short piece can come before the long one.
    expect(joined.readableLength).toBeLessThan(LONGEST_READ + 1024)
    await new Promise((next) => setImmediate(next))
  }
})

async function listen(server: Server): Promise<number> {
  closers.push(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Reads a socket's timer and the time until it fires from /proc/net/tcp (the kernel's proc_net_tcp.txt). */
function timerOf({ localPort, remotePort }: Socket): { timer: string; seconds: number } {
  const hex = (port = 0): string => port.toString(16).toUpperCase().padStart(4, '0')
  const line = readFileSync('/proc/self/net/tcp', 'utf8')
    .split('\n')
    .map((each) => each.trim().split(/\s+/))
    .find(([, local, remote]) => local?.endsWith(`:${hex(localPort)}`) && remote?.endsWith(`:${hex(remotePort)}`))
  const [timer = '', due = ''] = line?.[5]?.split(':') ?? []
  return { timer, seconds: Number.parseInt(due, 16) / TICKS_PER_SECOND }
}

const HANDSHAKE = [
  'GET / HTTP/1.1',
  'host: door',
  'connection: upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  `sec-websocket-key: ${Buffer.alloc(16).toString('base64')}`,
  '\r\n',
].join('\r\n')
/** The largest read from the kernel (libuv). */
const LONGEST_READ = 64 * 1024
const KEEP_ALIVE = '02'
/** USER_HZ, the unit of times in this file. */
const TICKS_PER_SECOND = 100
