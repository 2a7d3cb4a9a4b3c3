import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { FallbackServer } from '../../../agent/drivers/edge/fallback-server.ts'
import { eventually } from '../../helpers/eventually.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const MIB = 1024 ** 2
let directory: string
let fallback: FallbackServer
/** Requests that hold a share of their project. */
let held = 0
let server: Server
let port: number
/** Handles each connection to the server on loopback. */
let act: (socket: Socket) => void
const open = new Set<Socket>()

beforeAll(async () => {
  server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => open.delete(socket))
    act(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
  directory = mkdtempSync(join(tmpdir(), 'boxyard-fallback-'))
  const reach = async () => {
    held++
    return {
      ...{ owner: { project: 'demo', boxId: 'box_1' }, release: () => void held-- },
      connect: async () => {
        const stream = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
        await new Promise((resolve) => stream.once('connect', () => resolve(null)))
        return { stream, close: () => undefined, reset: () => undefined }
      },
    }
  }
  const refuse = async () => ({ kind: 'answer' as const, status: 502, headers: {}, body: 'refused' })
  fallback = new FallbackServer({ gate: { reach, refuse }, refusalMark: 'mark', logger: silentLogger })
  await new Promise<void>((resolve) => fallback.server.listen(join(directory, 'socket'), resolve))
})
afterAll(async () => {
  for (const socket of open) socket.destroy()
  await fallback.close()
  server.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Hands over a request to `127.9.3.1` as HAProxy does. Nothing listens there. Resolves once the server on loopback has the request. */
async function begin(head: string[], body = Buffer.alloc(0)): Promise<Socket> {
  const header = Buffer.from('0d0a0d0a000d0a515549540a2111000c7f0000017f09030100010000', 'hex')
  header.writeUInt16BE(port, 26)
  const socket = connect({ path: join(directory, 'socket'), allowHalfOpen: true })
  socket.on('error', () => undefined)
  socket.write(Buffer.concat([header, Buffer.from([...head, '', ''].join('\r\n')), body]))
  await eventually(() => open.size === 1)
  expect(held).toBe(1)
  return socket
}

/** Waits until the request holds nothing. Then closes the server's sockets, which it can have kept open, and waits for their end. */
async function over(): Promise<void> {
  const connectionsOf = () => new Promise((resolve) => fallback.server.getConnections((_, count) => resolve(count)))
  await eventually(async () => held === 0 && (await connectionsOf()) === 0)
  for (const socket of open) socket.destroy()
  await eventually(() => open.size === 0)
}

const UPGRADE = ['GET / HTTP/1.1', 'upgrade: websocket', 'connection: upgrade']
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'

describe('a request to a server on loopback is over', () => {
  test.each([
    ['a request', ['GET / HTTP/1.1']],
    ['a WebSocket', UPGRADE],
  ])('when the edge leaves while the server is silent: %s', async (_what, head) => {
    act = (socket) => socket.resume()
    const edge = await begin(head)
    edge.destroy()
    await over()
  })

  test('when the edge leaves while the server does not read a large body', async () => {
    act = (socket) => socket.pause()
    const edge = await begin(['POST / HTTP/1.1', `content-length: ${64 * MIB}`], Buffer.alloc(64 * MIB))
    await eventually(() => edge.writableLength > 0 && edge.bytesWritten > MIB)
    edge.destroy()
    await over()
  })

  test('when the edge ends its side alone', async () => {
    act = (socket) => socket.resume()
    const edge = await begin(['GET / HTTP/1.1'])
    edge.end()
    await over()
  })

  test('when the server leaves while a large body comes', async () => {
    act = (socket) =>
      void socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n')).once('data', () => socket.pause())
    const edge = await begin(['POST / HTTP/1.1', `content-length: ${64 * MIB}`], Buffer.alloc(64 * MIB))
    await new Promise((resolve) => edge.once('data', resolve))
    for (const socket of open) socket.resetAndDestroy()
    await over()
    edge.destroy()
  })

  test('when the server ends its side alone, with all of its answer passed on', async () => {
    act = (socket) => socket.resume().once('data', () => socket.end(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(MIB)}`))
    const edge = await begin(['GET / HTTP/1.1'])
    let size = 0
    edge.on('data', (piece: Buffer) => (size += piece.length))
    await over()
    await eventually(() => edge.readableEnded)
    expect(size).toBeGreaterThan(MIB)
    edge.destroy()
  })

  test('when the edge of an open WebSocket leaves, and the server keeps its side open', async () => {
    act = (socket) => socket.once('data', () => socket.write(SWITCH))
    const edge = await begin(UPGRADE)
    await new Promise((resolve) => edge.once('data', resolve))
    edge.destroy()
    await over()
  })
})
