import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { joinSockets } from '../../../shared/http/joined-sockets.ts'
import { READ_AHEAD_BYTES } from '../../../shared/http/read-ahead.ts'
import { SERVER_OPTIONS } from '../../../shared/http/serve.ts'
import { eventually } from '../../helpers/eventually.ts'

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

test('a side that waits holds one piece, whatever its server reads ahead of answers', async () => {
  const owner = await listen(createServer((socket) => void closers.push(() => socket.pause().destroy())))
  const { promise, resolve } = Promise.withResolvers<Socket>()
  const door = createServer(SERVER_OPTIONS, (client) => {
    const other = connect(owner, '127.0.0.1')
    void joinSockets(client, other)
    resolve(client)
  })
  const client = connect(await listen(door), '127.0.0.1')
  closers.push(() => client.destroy())
  const piece = Buffer.alloc(1024 ** 2)
  const send = (): void => void (client.write(piece) && setImmediate(send))
  client.on('drain', send).once('connect', send)
  const joined = await promise
  await eventually(() => joined.isPaused() && joined.readableLength > 0)
  for (let look = 0; look < 20; look++) {
    expect(joined.readableLength).toBeLessThanOrEqual(READ_AHEAD_BYTES)
    await new Promise((next) => setImmediate(next))
  }
})

async function listen(server: Server): Promise<number> {
  closers.push(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Reads the timer of a socket, and when it is due, from /proc/net/tcp (proc_net_tcp.txt of the kernel). */
function timerOf({ localPort, remotePort }: Socket): { timer: string; seconds: number } {
  const hex = (port = 0): string => port.toString(16).toUpperCase().padStart(4, '0')
  const line = readFileSync('/proc/self/net/tcp', 'utf8')
    .split('\n')
    .map((each) => each.trim().split(/\s+/))
    .find(([, local, remote]) => local?.endsWith(`:${hex(localPort)}`) && remote?.endsWith(`:${hex(remotePort)}`))
  const [timer = '', due = ''] = line?.[5]?.split(':') ?? []
  return { timer, seconds: Number.parseInt(due, 16) / TICKS_PER_SECOND }
}

const KEEP_ALIVE = '02'
/** USER_HZ, in which the kernel reports times. */
const TICKS_PER_SECOND = 100
