import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { type WebSocket as ServerSocket, WebSocketServer } from 'ws'
import { ConnectionError, OverflowError } from '../../../sdk/typescript/src/api-error.ts'
import { CHANNEL, CHANNEL_PROTOCOL, channelsOf } from '../../../sdk/typescript/src/channel-socket.ts'
import { openWebSocket } from '../../../sdk/typescript/src/message-socket.ts'
import { createTerminalStream, type Loss } from '../../../sdk/typescript/src/terminal-stream.ts'

/** More than a client buffers if it cannot pause its socket. */
const FLOOD_BYTES = 8 * 1024 * 1024
const PIECE = new Uint8Array(32 * 1024).fill(97)
PIECE[0] = CHANNEL.stdout

let server: WebSocketServer
let flooded: ServerSocket

beforeAll(async () => {
  server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => CHANNEL_PROTOCOL })
  await once(server, 'listening')
  server.on('connection', (socket) => {
    flooded = socket
  })
})

afterEach(() => flooded.terminate())

afterAll(() => void server.close())

/** Attaches with the class that all browsers have, and returns the stream once the whole flood has arrived. */
async function attachToFlood(loss: Loss) {
  const { port } = server.address() as AddressInfo
  const connected = once(server, 'connection')
  const socket = await openWebSocket({ url: `ws://127.0.0.1:${port}/`, protocol: CHANNEL_PROTOCOL })
  await connected
  const closed = once(flooded, 'close')
  for (let sent = 0; sent < FLOOD_BYTES; sent += PIECE.length) flooded.send(PIECE)
  const [code] = await closed
  expect(code).toBe(4008)
  return { socket, stream: createTerminalStream(channelsOf({ ...socket, id: 'exe_1' }), loss) }
}

test('a console of which too much came is left at once: whoever attaches anew gets its end', async () => {
  const { stream, socket } = await attachToFlood('anew')
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(OverflowError)
  await expect(stream.write(Uint8Array.of(3))).rejects.toBeInstanceOf(ConnectionError)
  expect(socket.closed()?.reason).toBe('Output arrived faster than the program read it.')
})

test('a command of which too much came tells so after all that has come, without a byte missing before', async () => {
  const { stream } = await attachToFlood(null)
  let bytes = 0
  const read = async (): Promise<void> => {
    for await (const piece of stream) bytes += piece.bytes.length
  }
  await expect(read()).rejects.toBeInstanceOf(OverflowError)
  expect(bytes).toBeGreaterThan(4 * 1024 * 1024 - PIECE.length)
  expect(bytes).toBeLessThan(FLOOD_BYTES)
})

test('a command that resumes goes on by its record where the flood was left', async () => {
  let from = -1
  const { stream } = await attachToFlood(async function* (_id, { stdout }) {
    from = stdout
    yield { stream: 'stdout', bytes: Uint8Array.of(98) }
    return { exitCode: 7, message: null }
  })
  let bytes = 0
  for await (const piece of stream) bytes += piece.bytes.length
  expect(await stream.ended()).toEqual({ exitCode: 7, message: null })
  expect(bytes).toBe(from + 1)
})
