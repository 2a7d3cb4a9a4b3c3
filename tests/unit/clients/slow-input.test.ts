import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { SilentInputError, SlowInput, wasSilent } from '../../../cli/files/slow-input.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text)

test('input that is silent at first begins its request with its first piece', async () => {
  // Cuts off a connection whose head is not complete, as the service does after 15 s.
  const server = createServer({ headersTimeout: 200, requestTimeout: 0, connectionsCheckingInterval: 50 })
  server.on('request', (incoming, outgoing) => {
    incoming.pipe(outgoing)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const late = async function* (): AsyncGenerator<Uint8Array> {
    await pause(600)
    yield bytes('late ')
    yield bytes('input')
  }
  try {
    const input = await SlowInput.open(late())
    const init = { method: 'PUT', body: ReadableStream.from(input.pieces()), duplex: 'half' }
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, init as RequestInit)
    expect([answer.status, await answer.text()]).toEqual([200, 'late input'])
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

test('silence counts while a reader waits for a piece, and not while the reader is slow', async () => {
  let now = 0
  const next = Promise.withResolvers<Uint8Array>()
  const given = async function* (): AsyncGenerator<Uint8Array> {
    yield bytes('one')
    yield await next.promise
  }
  const input = await SlowInput.open(given(), () => now)
  const pieces = input.pieces()
  expect((await pieces.next()).value).toEqual(bytes('one'))
  now = 70_000
  expect([input.silentMs(), wasSilent(input)]).toEqual([0, false])
  const second = pieces.next()
  now = 100_000
  expect([input.silentMs(), wasSilent(input)]).toEqual([30_000, false])
  now = 130_000
  expect([input.silentMs(), wasSilent(input)]).toEqual([60_000, true])
  next.resolve(bytes('two'))
  expect((await second).value).toEqual(bytes('two'))
  expect([wasSilent(input), (await pieces.next()).done]).toEqual([false, true])
  expect(new SilentInputError('Send a file.', null).message).toBe(
    'The input was silent for 60 s, so the service ended the upload. Send a file.',
  )
})

test('input without a piece is empty, and the error of input that fails is its own', async () => {
  const empty = await SlowInput.open(ReadableStream.from([]))
  expect((await empty.pieces().next()).done).toBe(true)
  const failing = async function* (): AsyncGenerator<Uint8Array> {
    yield await Promise.reject(new Error('of the input'))
  }
  await expect(SlowInput.open(failing())).rejects.toThrow('of the input')
})
