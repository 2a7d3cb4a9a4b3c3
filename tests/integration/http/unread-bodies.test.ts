import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, type Serving, serve } from '../../../shared/http/serve.ts'
import { eventually, untilSteady } from '../../helpers/eventually.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const KIB = 1024
const BODY = Buffer.alloc(4 * 1024 * KIB)
const HALF = BODY.subarray(BODY.length / 2)
let server: Server
let serving: Serving
let client: Socket | null = null

afterEach(async () => {
  client?.destroy()
  await serving.drain(AbortSignal.abort())
})

/** Sends the bytes `sent` of a body to a handler. Resolves with the server's connection. */
async function send(handler: HttpHandler, sent: Uint8Array = BODY): Promise<Socket> {
  server = createServer(SERVER_OPTIONS)
  serving = serve(server, { handler, logger: silentLogger, now: Date.now })
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => undefined)
  client.write(`PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: ${BODY.length}\r\n\r\n`)
  client.write(sent)
  return accepted
}

test('of a body that no handler has asked for, little is read', async () => {
  const socket = await send(() => new Promise(() => undefined))
  await eventually(() => socket.bytesRead > 0)
  const read = await untilSteady(() => socket.bytesRead, 500)
  // Each request that waits for a decision uses this much memory.
  expect(read).toBeLessThanOrEqual(130 * KIB)
})

test('one that is asked for late is read whole', async () => {
  let size = 0
  const done = Promise.withResolvers<void>()
  const socket = await send(async (request) => {
    await untilSteady(() => socket.bytesRead, 200)
    for await (const piece of request.openBody()) size += piece.length
    done.resolve()
    return { status: 204, headers: {}, body: null }
  })
  await done.promise
  expect(size).toBe(BODY.length)
})

test('one that waits for the rest of a body fails once the request is answered', async () => {
  const waiting = Promise.withResolvers<Promise<unknown>>()
  await send(async (request) => {
    const pieces = request.openBody()[Symbol.asyncIterator]()
    for (let size = 0; size < HALF.length; ) size += (await pieces.next()).value.length
    const rest = pieces.next()
    rest.catch(() => undefined)
    waiting.resolve(rest)
    return { status: 401, headers: {}, body: null }
  }, HALF)
  // The bytes read for the body stay in memory until then, and the client has a minute to send more.
  await expect(waiting.promise).rejects.toMatchObject({ message: 'the rest of the body was discarded' })
  expect(client?.closed).toBe(false)
})
