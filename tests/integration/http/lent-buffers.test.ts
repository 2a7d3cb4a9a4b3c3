import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { LENT_BUFFERS, LENT_BYTES, LentBuffers } from '../../../shared/http/lent-buffers.ts'
import { SERVER_OPTIONS, serve } from '../../../shared/http/serve.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const closers: (() => void)[] = []

afterEach(() => {
  for (const close of closers.splice(0).reverse()) close()
})

test('a buffer that was given back is taken again, once, and what was not lent never', () => {
  const buffers = new LentBuffers()
  const first = buffers.take(LENT_BYTES)
  expect(buffers.take(LENT_BYTES).buffer).not.toBe(first.buffer)
  buffers.giveBack(first.subarray(0, 10))
  buffers.giveBack(first)
  buffers.giveBack(new Uint8Array(LENT_BYTES))
  buffers.giveBack(Buffer.from('pooled'))
  expect(buffers.take(LENT_BYTES).buffer).toBe(first.buffer)
  expect(buffers.take(LENT_BYTES).buffer).not.toBe(first.buffer)
  expect(buffers.take(10).buffer.byteLength).toBe(10)
})

/** Fills a lent buffer with one number after the other, as reads of a file would. */
async function* numbered(count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) {
    const piece = LENT_BUFFERS.take(LENT_BYTES)
    yield piece.fill(index % 251)
  }
}

/** Reads a little at a time, so that pieces wait in the socket. Counts all bytes and the wrong ones. */
async function readSlowly(port: number): Promise<{ bytes: number; wrong: number }> {
  const asked = httpRequest({ port, agent: false }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let [bytes, wrong] = [0, 0]
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    for (const [index, byte] of chunk.entries()) if (byte !== Math.floor((bytes + index) / LENT_BYTES) % 251) wrong += 1
    bytes += chunk.length
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { bytes, wrong }
}

test('answers to slow readers side by side keep their content', async () => {
  const server = createServer(SERVER_OPTIONS)
  const handler = async () => ({ status: 200, headers: {}, body: numbered(COUNT) })
  serve(server, { handler, logger: silentLogger, now: () => 0 })
  closers.push(
    () => server.close(),
    () => server.closeAllConnections(),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const all = await Promise.all(Array.from({ length: 4 }, () => readSlowly(port)))
  expect(all).toEqual(all.map(() => ({ bytes: COUNT * LENT_BYTES, wrong: 0 })))
})

const COUNT = 24
