import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { ConnectionError } from '../../../sdk/typescript/src/api-error.ts'
import { createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { type MessageSocket, openNodeSocket } from '../../../sdk/typescript/src/message-socket.ts'

const MIB = 1024 * 1024

let servers: Server[] = []
const sockets = new Set<Socket>()

afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
  servers = []
})

/** Serves with `answer`, which gets each connection with the head of its request. Returns the port. */
async function serve(answer: (socket: Socket, head: string) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', (head) => answer(socket, head.toString('latin1')))
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Accepts the upgrade to a WebSocket. */
function upgrade(socket: Socket, head: string): void {
  const [, key = ''] = /sec-websocket-key: *(\S+)/i.exec(head) ?? []
  const [, protocol = ''] = /sec-websocket-protocol: *(\S+)/i.exec(head) ?? []
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  const headers = [`Sec-WebSocket-Accept: ${accept}`, `Sec-WebSocket-Protocol: ${protocol}`]
  const lines = ['HTTP/1.1 101 x', 'Upgrade: websocket', 'Connection: Upgrade', ...headers, '', '']
  socket.write(lines.join('\r\n'))
}

/** Makes a frame of the command protocol. */
function frameOf(payload: string, opcode = 0x82): Buffer {
  const bytes = Buffer.from(payload)
  return Buffer.concat([Buffer.of(opcode, bytes.length), bytes])
}

const openAt = (port: number, openMs?: number): Promise<MessageSocket> =>
  openNodeSocket({ url: `ws://127.0.0.1:${port}/`, protocol: 'p', ...(openMs === undefined ? {} : { openMs }) }, {})

const streamAt = (port: number) =>
  createBoxyard({ url: `http://127.0.0.1:${port}`, token: 't' })
    .box('demo', 'web')
    .stream(['true'])

test('a message that is longer than any of the service ends the connection', async () => {
  const port = await serve((socket, head) => {
    upgrade(socket, head)
    const length = Buffer.alloc(10)
    length.writeUInt16BE(0x82_7f)
    length.writeBigUInt64BE(2n ** 40n, 2)
    socket.write(length)
  })
  const socket = await openAt(port)
  expect(await socket.receive()).toBeNull()
})

test('fragments without an end are no more than a message', async () => {
  const port = await serve((socket, head) => {
    upgrade(socket, head)
    const fragment = Buffer.concat([Buffer.of(0, 126, 255, 255), Buffer.alloc(65535)])
    socket.write(Buffer.of(2, 0))
    const write = (): void => {
      while (socket.writable && socket.write(fragment));
    }
    socket.on('drain', write)
    write()
  })
  const socket = await openAt(port)
  expect(await socket.receive()).toBeNull()
})

test('messages without bytes are held back as others are', async () => {
  const frames = Buffer.alloc(2 * MIB)
  for (let at = 0; at < frames.length; at += 2) frames.writeUInt16BE(0x82_00, at)
  const port = await serve((socket, head) => {
    upgrade(socket, head)
    socket.write(frames)
  })
  const socket = await openAt(port)
  // Enough turns for all messages to arrive if nothing holds them back.
  for (let turn = 0; turn < 2000; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    socket.receiveReady()
  }
  let queued = 0
  while (socket.receiveReady() !== null) queued++
  expect(queued).toBeGreaterThan(1000)
  expect(queued).toBeLessThan(100_000)
})

test('a refusal without an end is a refusal', async () => {
  const port = await serve((socket) => {
    socket.write('HTTP/1.1 403 x\r\n\r\n')
    const piece = Buffer.alloc(MIB, 'x')
    const write = (): void => {
      while (socket.writable && socket.write(piece));
    }
    socket.on('drain', write)
    write()
  })
  await expect(openAt(port)).rejects.toMatchObject({ status: 403 })
})

test('a handshake that drips is given up', async () => {
  const port = await serve((socket) => {
    socket.write('HTTP/1.1 101 x\r\n')
    const timer = setInterval(() => socket.write('a: b\r\n'), 20)
    socket.once('close', () => clearInterval(timer))
  })
  await expect(openAt(port, 200)).rejects.toThrow(/did not answer within 0.2 s/)
})

test('a redirect of a WebSocket is a refusal, and nothing is sent to its target', async () => {
  let isAsked = false
  const other = await serve(() => (isAsked = true))
  const port = await serve((socket) => socket.end(`HTTP/1.1 302 x\r\nLocation: ws://127.0.0.1:${other}/\r\n\r\n`))
  await expect(openAt(port)).rejects.toMatchObject({ status: 302 })
  expect(isAsked).toBe(false)
})

test.each([
  ['\x03{', 'no JSON'],
  ['\x03[]', 'no status'],
  ['\x03{"status":"success"}', 'a status that is none'],
  ['', 'nothing'],
  ['\x09unknown', 'an unknown channel'],
])('a command whose stream closes after %j, which is %s, has not succeeded', async (payload) => {
  const port = await serve((socket, head) => {
    upgrade(socket, head)
    socket.end(Buffer.concat([frameOf(payload), frameOf('\x03\xe8', 0x88)]))
  })
  const stream = await streamAt(port)
  await expect(stream.ended()).rejects.toBeInstanceOf(ConnectionError)
})

test('the first status of a command counts', async () => {
  const port = await serve((socket, head) => {
    upgrade(socket, head)
    const failure = frameOf('\x03{"status":"Failure","details":{"causes":[{"message":"7"}]}}')
    socket.end(Buffer.concat([failure, frameOf('\x03{"status":"Success"}')]))
  })
  expect((await (await streamAt(port)).ended()).exitCode).toBe(7)
})
