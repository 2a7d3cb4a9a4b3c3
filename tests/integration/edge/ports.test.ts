import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { finished } from 'node:stream/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { portConnectionOf } from '../../../agent/drivers/boxes/box-ports.ts'
import { connectTcp, openTcpSocket } from '../../../agent/lib/syscalls/tcp.ts'
import type { PortConnection } from '../../../agent/ports/boxes/port-connection.ts'
import { PORT_MESSAGE_BYTES, PORT_PROTOCOL } from '../../../shared/http/port-frames.ts'
import { eventually, untilSteady } from '../../helpers/eventually.ts'
import { openStream, refusedStream, type StreamClient } from '../../helpers/exec/stream-client.ts'
import { BOX, deployment, type StreamLab, startStreamLab } from '../../helpers/exec/stream-lab.ts'

const PORT = `${BOX}/ports/5432/ws`
const HOST = '127.0.0.1'
const MIB = 1024 ** 2

let at: StreamLab
let program: Server
/** The program's sockets, which a test takes in order. */
let accepted: Socket[]
const all = new Set<Socket>()
/** The agent's ends of these sockets. */
let connections: PortConnection[]

beforeEach(async () => {
  at = await startStreamLab()
  accepted = []
  connections = []
  program = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    accepted.push(socket)
    all.add(socket)
  })
  await new Promise<void>((resolve) => program.listen(0, HOST, resolve))
  at.openPort = async () => {
    const fd = openTcpSocket(HOST)
    await eventually(() => connectTcp(fd, HOST, (program.address() as AddressInfo).port))
    const connection = portConnectionOf(fd)
    connections.push(connection)
    return connection
  }
})

afterEach(async () => {
  await at.close()
  for (const socket of all) socket.destroy()
  all.clear()
  await new Promise((resolve) => program.close(resolve))
})

interface Joined {
  client: StreamClient
  socket: Socket
  connection: PortConnection
}

async function join(options: Parameters<typeof openStream>[1] = {}): Promise<Joined> {
  const client = await openStream(`${at.url}${PORT}`, { token: at.token, protocols: [PORT_PROTOCOL], ...options })
  await eventually(() => accepted.length > 0)
  const [socket, connection] = [accepted.shift(), connections.shift()]
  if (socket === undefined || connection === undefined) throw new Error('nothing was connected')
  return { client, socket, connection }
}

const bytesOf = ({ messages }: StreamClient): Buffer =>
  Buffer.concat(messages.filter((each): each is Buffer => typeof each !== 'string'))
const textsOf = ({ messages }: StreamClient): string[] => messages.filter((each) => typeof each === 'string')
/** Reads a socket to its end, and leaves the other direction open. */
async function readAll(socket: Socket): Promise<Buffer> {
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  await finished(socket, { writable: false })
  return Buffer.concat(pieces)
}

/** Returns the number of unread bytes in the receive queue of a local port. */
function receiveQueueOf(port: number): number {
  const local = port.toString(16).toUpperCase().padStart(4, '0')
  const [, queued] =
    new RegExp(`: [0-9A-F]+:${local} \\S+ \\S+ [0-9A-F]+:([0-9A-F]+)`).exec(readFileSync('/proc/net/tcp', 'utf8')) ?? []
  return Number.parseInt(queued ?? '', 16)
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

describe('the WebSocket of a port', () => {
  test.each([
    ['its subprotocol', [PORT_PROTOCOL, 'other'], PORT_PROTOCOL],
    ['none', [], undefined],
  ])('is opened with %s', async (_what, protocols, chosen) => {
    const { client, socket } = await join({ protocols })
    expect(client.headers['sec-websocket-protocol']).toBe(chosen)
    socket.end('hello')
    await eventually(() => textsOf(client).length > 0)
    expect(bytesOf(client).toString()).toBe('hello')
  })

  test('is refused with other subprotocols alone, without its permission, and with the answer of its handler', async () => {
    const ask = async (options: Parameters<typeof openStream>[1], path = PORT) =>
      (await refusedStream(`${at.url}${path}`, { token: at.token, protocols: [], ...options })).problem
    expect(await ask({ protocols: ['v5.channel.k8s.io'] })).toMatchObject({
      status: 400,
      errors: [{ pointer: '/headers/sec-websocket-protocol' }],
    })
    for (const permissions of [['exec'], ['read', 'write', 'admin']] as const) {
      const token = await deployment.mint({ permissions: [...permissions] })
      expect(await ask({ token })).toMatchObject({
        code: 'permission_denied',
        detail: expect.stringContaining('ports'),
      })
    }
    for (const port of ['0', '65536', '-1', '080', 'http'])
      expect(await ask({}, `${BOX}/ports/${port}/ws`)).toMatchObject({
        status: 400,
        errors: [{ pointer: '/path/port' }],
      })
    at.openPort = () => Promise.reject(new Error('broken'))
    expect(await ask({})).toMatchObject({ status: 500 })
    expect([accepted.length, at.server.open('ports')]).toEqual([0, 0])
  })

  test('carries bytes both ways, unchanged, then both ends, and closes with 1000', async () => {
    const { client, socket } = await join()
    const [up, down] = [randomBytes(9 * MIB + 7), randomBytes(7 * MIB + 3)]
    for (let from = 0; from < up.length; from += PORT_MESSAGE_BYTES)
      client.socket.send(up.subarray(from, from + PORT_MESSAGE_BYTES))
    client.socket.send('end')
    socket.end(down)
    const got = await readAll(socket)
    expect(await client.closed).toEqual({ code: 1000, reason: '' })
    expect([digest(got), digest(bytesOf(client)), textsOf(client)]).toEqual([digest(up), digest(down), ['end']])
    await eventually(() => at.server.open('ports') === 0)
  })

  test('carries on in one direction after the other has ended', async () => {
    const first = await join()
    first.client.socket.send('end')
    await finished(first.socket.resume(), { writable: false })
    first.socket.write('late')
    await eventually(() => bytesOf(first.client).toString() === 'late')
    first.socket.end()
    expect((await first.client.closed).code).toBe(1000)
    const second = await join()
    second.socket.end()
    await eventually(() => textsOf(second.client).length > 0)
    second.client.socket.send(Buffer.from('late'))
    second.client.socket.send('end')
    expect((await readAll(second.socket)).toString()).toBe('late')
    expect((await second.client.closed).code).toBe(1000)
  })

  test('makes the program wait for a client that does not read, and loses nothing', async () => {
    const { client, socket, connection } = await join()
    client.socket.pause()
    const piece = Buffer.alloc(MIB, 'x')
    let written = 0
    const isFull = (): boolean => {
      while (!socket.writableNeedDrain && written < 256) {
        socket.write(piece)
        written++
      }
      return connection.stream.isPaused() && socket.writableNeedDrain
    }
    await eventually(isFull)
    const wire = at.wires()[0]
    expect(written).toBeLessThan(64)
    expect((wire?.writableLength ?? 0) + connection.stream.readableLength).toBeLessThan(MIB)
    client.socket.resume()
    socket.end()
    client.socket.send('end')
    await client.closed
    expect(bytesOf(client).length).toBe(written * MIB)
  })

  test('keeps at most 256 KiB in the kernel for a client that stops reading', async () => {
    const { client, socket, connection } = await join()
    const { localPort = 0 } = connection.stream as Socket
    const piece = Buffer.alloc(MIB, 'x')
    const fill = (): void => {
      while (!socket.destroyed && !socket.writableNeedDrain) socket.write(piece)
    }
    socket.on('drain', fill)
    fill()
    // Reading makes the kernel enlarge a queue that can grow.
    await eventually(() => bytesOf(client).length > 32 * MIB)
    client.socket.pause()
    await eventually(() => connection.stream.isPaused())
    await untilSteady(() => receiveQueueOf(localPort), 300)
    expect(receiveQueueOf(localPort)).toBeLessThanOrEqual(256 * 1024)
    client.socket.terminate()
    await eventually(() => socket.destroyed)
  })

  test('makes the client wait for a program that does not read, and loses nothing', async () => {
    const { client, socket, connection } = await join()
    const piece = Buffer.alloc(PORT_MESSAGE_BYTES, 'x')
    let sent = 0
    const isFull = (): boolean => {
      while (client.socket.bufferedAmount < 4 * MIB && sent < 4096) {
        client.socket.send(piece)
        sent++
      }
      return connection.stream.writableNeedDrain && client.socket.bufferedAmount >= 4 * MIB
    }
    await eventually(isFull)
    expect(sent).toBeLessThan(1024)
    expect(connection.stream.writableLength).toBeLessThan(MIB)
    client.socket.send('end')
    expect((await readAll(socket)).length).toBe(sent * PORT_MESSAGE_BYTES)
  })

  test.each<[string, (client: StreamClient) => void, number]>([
    ['another text than the end', ({ socket }) => socket.send('stop'), 1003],
    ['a message of more than 64 KiB', ({ socket }) => socket.send(Buffer.alloc(64 * 1024 + 1)), 1009],
    [
      'a message in more than 1,024 pieces',
      ({ socket }) => {
        for (let i = 0; i < 1025; i++) socket.send('x', { binary: true, fin: false })
      },
      1008,
    ],
  ])('is closed at %s, and resets the connection', async (_what, act, code) => {
    const { client, socket } = await join()
    const failed = finished(socket.resume()).catch((error: unknown) => error)
    act(client)
    expect((await client.closed).code).toBe(code)
    expect(await failed).toMatchObject({ code: 'ECONNRESET' })
  })

  test('is closed at bytes after the end', async () => {
    const { client, connection } = await join()
    for (const each of ['end', Buffer.from('x')]) client.socket.send(each)
    expect((await client.closed).code).toBe(1002)
    await eventually(() => connection.stream.destroyed)
  })

  test('ends the connection of a client that closes, and resets that of one that is cut off', async () => {
    const polite = await join()
    polite.client.socket.send(Buffer.from('last words'))
    polite.client.socket.close(1000)
    expect((await readAll(polite.socket)).toString()).toBe('last words')
    const cut = await join()
    const failed = finished(cut.socket.resume()).catch((error: unknown) => error)
    cut.client.socket.terminate()
    expect(await failed).toMatchObject({ code: 'ECONNRESET' })
    await eventually(() => at.server.open('ports') === 0)
  })

  test('tells a client that the program has reset the connection', async () => {
    const { client, socket } = await join()
    socket.resetAndDestroy()
    expect(await client.closed).toEqual({ code: 1011, reason: 'The connection was interrupted.' })
  })

  test('is not opened for a connection that broke off meanwhile, nor for a client that has left', async () => {
    const open = at.openPort
    at.openPort = async (call) => {
      const connection = await open(call)
      connection.stream.destroy()
      await once(connection.stream, 'close')
      return connection
    }
    const { client } = await join()
    expect((await client.closed).code).toBe(1011)
    const leaving = Promise.withResolvers<void>()
    at.openPort = async (call) => {
      const connection = await open(call)
      await leaving.promise
      return connection
    }
    const late = openStream(`${at.url}${PORT}`, { token: at.token, protocols: [], handshakeTimeout: 200 })
    await expect(late).rejects.toThrow('handshake has timed out')
    await eventually(() => connections.length > 0)
    leaving.resolve()
    await eventually(() => connections.every(({ stream }) => stream.destroyed) && at.server.open('ports') === 0)
  })

  test('is closed with 1012 when the agent stops', async () => {
    const { client, socket } = await join()
    const failed = finished(socket.resume()).catch((error: unknown) => error)
    await at.server.drain(AbortSignal.abort())
    expect((await client.closed).code).toBe(1012)
    expect(await failed).toMatchObject({ code: 'ECONNRESET' })
  })

  test('has a bound of its own, by box and project', async () => {
    await at.close()
    at = Object.assign(await startStreamLab({ portConnectionsAtOnce: 4, streamsAtOnce: 1 }), { openPort: at.openPort })
    await join()
    await join()
    const problem = (await refusedStream(`${at.url}${PORT}`, { token: at.token, protocols: [] })).problem
    const detail: unknown = expect.stringContaining('`port_connections_at_once`')
    expect(problem).toMatchObject({ code: 'rate_limited', detail })
    const other = PORT.replace('/demo/', '/else/')
    const { socket } = await openStream(`${at.url}${other}`, { token: at.token, protocols: [] })
    expect([socket.readyState, at.server.open('ports'), at.server.open('streams')]).toEqual([1, 3, 0])
  })
})
