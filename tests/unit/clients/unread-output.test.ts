import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { WebSocketServer } from 'ws'
import { createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { CHANNEL, CHANNEL_PROTOCOL } from '../../../sdk/typescript/src/channel-socket.ts'
import { eventually, untilSteady } from '../../helpers/eventually.ts'

const PIECE = Buffer.alloc(16 * 1024, CHANNEL.stdout)
const KIB = 1024
let server: WebSocketServer

afterEach(() => {
  for (const socket of server.clients) socket.terminate()
  server.close()
})

/** Sends 8 MiB to each client, and counts the bytes before the last ping that the client answered. A client answers pings as it reads. */
async function openFlood(): Promise<{ port: number; readBytes(): number }> {
  server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => CHANNEL_PROTOCOL })
  await once(server, 'listening')
  let readBytes = 0
  server.on('connection', (socket) => {
    socket.on('pong', (mark: Buffer) => (readBytes = Number(mark.toString())))
    for (let sent = PIECE.length; sent <= 8 * KIB * KIB; sent += PIECE.length) {
      socket.send(PIECE)
      socket.ping(String(sent))
    }
  })
  return { port: (server.address() as AddressInfo).port, readBytes: () => readBytes }
}

test.each([
  ['a console', 128],
  ['a command on a terminal', 128],
  ['a command', 1024],
])('of the output of %s a client that does not take it reads %d KiB ahead', async (what, kib) => {
  const { port, readBytes } = await openFlood()
  const box = createBoxyard({ url: `http://127.0.0.1:${port}`, token: 't' }).box('demo', 'web')
  const stream = await (what === 'a console' ? box.console() : box.stream(['yes'], { tty: what.endsWith('terminal') }))
  await eventually(() => readBytes() >= kib * KIB)
  // The client has parsed at most one read of its connection.
  expect(await untilSteady(readBytes, 200)).toBeLessThanOrEqual((kib + 128) * KIB)
  const output = stream[Symbol.asyncIterator]()
  while (readBytes() <= (kib + 128) * KIB) await output.next()
})
