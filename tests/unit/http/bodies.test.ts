import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { ServiceError } from '../../../shared/errors.ts'
import { type HttpHandler, jsonResponse, problemResponse } from '../../../shared/http/messages.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createHttpServers, openConversation } from '../../helpers/front/http-server.ts'

const { start, closeAll } = createHttpServers()

afterEach(closeAll)

/** Records the bytes of pieces so far, and the outcome of each body (its length or the code of its refusal). */
function createTaker(take: 'whole' | 'pieces', betweenMs = 0) {
  const outcomes: (number | string)[] = []
  const progress = { bytes: 0 }
  const handler: HttpHandler = async ({ readBody, openBody }) => {
    try {
      let size = 0
      if (take === 'whole') size = (await readBody(1024 * 1024)).length
      else {
        for await (const piece of openBody()) {
          size += piece.length
          progress.bytes = size
          await sleep(betweenMs)
        }
      }
      outcomes.push(size)
      return jsonResponse(200, { size })
    } catch (error) {
      outcomes.push((error as ServiceError).code)
      throw error
    }
  }
  return { outcomes, progress, handler }
}

const post = (headers: string) => `POST / HTTP/1.1\r\nhost: a\r\n${headers}\r\n\r\n`

async function drip(say: (text: string) => void, { times, everyMs }: { times: number; everyMs: number }) {
  for (let i = 0; i < times; i++) {
    say('x')
    await sleep(everyMs)
  }
}

describe('a body that is read whole', () => {
  test('is cut off in time, even if it arrives byte by byte', async () => {
    const { outcomes, handler } = createTaker('whole')
    const { port } = await start(handler, { serving: { timeouts: { wholeMs: 300, silenceMs: 10_000 } } })
    const client = openConversation(port)
    client.say(post('content-length: 100000'))
    await Promise.race([client.closed, drip(client.say, { times: 500, everyMs: 20 })])
    expect([client.isClosed(), client.heard(), outcomes]).toEqual([true, '', ['invalid_request']])
  })

  test('is waited for the longer the longer it is', async () => {
    const { handler } = createTaker('whole')
    const timeouts = { wholeMs: 60_000, silenceMs: 60_000, startMs: 200 }
    const { port } = await start(handler, { serving: { timeouts } })
    const [short, long] = [openConversation(port), openConversation(port)]
    short.say(`${post('content-length: 100')}x`)
    long.say(`${post('content-length: 1000000')}x`)
    await short.closed
    expect(long.isClosed()).toBe(false)
    long.socket.destroy()
  })

  test('is not cut off after its end, even if its answer takes long', async () => {
    const slow: HttpHandler = async ({ readBody }) => {
      const { length } = await readBody(100)
      await sleep(400)
      return jsonResponse(200, { length })
    }
    const { port } = await start(slow, { serving: { timeouts: { wholeMs: 150, silenceMs: 150 } } })
    const client = openConversation(port)
    client.say(`${post('content-length: 3')}abc`)
    await eventually(() => client.heard().includes('{"length":3}'))
    client.socket.destroy()
  })

  test('of a client that has left is not waited for', async () => {
    const [reached, outcome] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()]
    const { port } = await start(async ({ readBody, signal }) => {
      reached.resolve()
      await new Promise((left) => signal.addEventListener('abort', left))
      await sleep(50)
      outcome.resolve(await readBody(100).catch((error: unknown) => error))
      return jsonResponse(200, {})
    })
    const client = openConversation(port)
    client.say(post('content-length: 3'))
    await reached.promise
    client.socket.destroy()
    expect(await outcome.promise).toMatchObject({ code: 'invalid_request' })
  })
})

describe('a body that is taken in pieces', () => {
  const patience = { wholeMs: 100, silenceMs: 600 }

  test('may take any time while it brings bytes', async () => {
    const { outcomes, handler } = createTaker('pieces')
    const { port } = await start(handler, { serving: { timeouts: patience } })
    const client = openConversation(port)
    client.say(post('content-length: 20'))
    await drip(client.say, { times: 20, everyMs: 60 })
    await eventually(() => outcomes.length > 0)
    expect(outcomes).toEqual([20])
    client.socket.destroy()
  })

  test('is cut off when its client falls silent, before or in the middle', async () => {
    for (const beginning of ['', 'some']) {
      const { outcomes, handler } = createTaker('pieces')
      const { port } = await start(handler, { serving: { timeouts: patience } })
      const client = openConversation(port)
      client.say(post('content-length: 20') + beginning)
      await client.closed
      expect(outcomes).toEqual(['invalid_request'])
    }
  })

  test('is not cut off because its reader is slow', async () => {
    const { outcomes, handler } = createTaker('pieces', 700)
    const { port } = await start(handler, { serving: { timeouts: { ...patience, silenceMs: 250 } } })
    const client = openConversation(port)
    client.say(`${post('content-length: 150000')}${'x'.repeat(150_000)}`)
    await eventually(() => outcomes.length > 0)
    expect(outcomes).toEqual([150_000])
    client.socket.destroy()
  })

  test.each([
    ['content-length: 20', 'x'.repeat(19), 19],
    ['transfer-encoding: chunked', '14\r\nxxxxxxxx', 8],
    ['transfer-encoding: chunked', '4\r\nxxxx\r\n', 4],
    ['transfer-encoding: chunked', '4\r\nxxxx\r\n0\r\n', 4],
  ])('with %s is not whole if its client leaves before the end', async (header, text, bytes) => {
    const { outcomes, progress, handler } = createTaker('pieces')
    const { port } = await start(handler)
    const client = openConversation(port)
    client.say(post(header) + text)
    await eventually(() => progress.bytes === bytes)
    client.socket.destroy()
    await eventually(() => outcomes.length > 0)
    expect(outcomes).toEqual(['invalid_request'])
  })

  test('is requested from a client with 100 Continue only when the first piece is read', async () => {
    const [opened, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { port } = await start(async ({ openBody }) => {
      const body = openBody()
      opened.resolve()
      await begun.promise
      for await (const piece of body) return jsonResponse(200, { size: piece.length })
      return jsonResponse(200, { size: 0 })
    })
    const client = openConversation(port)
    client.say(post('expect: 100-continue\r\ncontent-length: 3'))
    await opened.promise
    await sleep(100)
    expect(client.heard()).toBe('')
    begun.resolve()
    await eventually(() => client.heard() === 'HTTP/1.1 100 Continue\r\n\r\n')
    client.say('abc')
    await eventually(() => client.heard().includes('{"size":3}'))
    client.socket.destroy()
  })
})

describe('a client that is refused while it still has a body to send', () => {
  const refuse = () => problemResponse(new ServiceError('token_missing', 'No.'), 'r')
  const readers: [string, HttpHandler][] = [
    ['that was not read', async () => refuse()],
    [
      'of which a piece was taken',
      async ({ openBody }) => {
        const body = openBody()[Symbol.asyncIterator]()
        await body.next()
        await body.return?.()
        return refuse()
      },
    ],
    [
      'that is still waited for',
      async ({ openBody }) => {
        const body = openBody()[Symbol.asyncIterator]()
        await body.next()
        body.next().catch(() => undefined)
        void body.return?.()
        return refuse()
      },
    ],
  ]

  test.each(readers)('%s gets the answer at once, and may send another request after it', async (_title, handler) => {
    let requests = 0
    const { port } = await start((request) =>
      requests++ === 0 ? handler(request) : Promise.resolve(jsonResponse(200, {})),
    )
    const client = openConversation(port)
    client.say(post('content-length: 8000000') + 'x'.repeat(1000))
    await eventually(() => client.heard().startsWith('HTTP/1.1 401 '))
    for (let i = 0; i < 7999; i++) client.say('x'.repeat(1000))
    client.say('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await eventually(() => client.heard().includes('HTTP/1.1 200 OK'))
    client.socket.destroy()
  })

  test('gets the whole answer, though it asked for the connection to be closed', async () => {
    const { port, serving } = await start(async () => {
      await sleep(20)
      return { status: 413, headers: {}, body: Buffer.alloc(4 * 1024 * 1024, 'y') }
    })
    for (let i = 0; i < 5; i++) {
      const client = openConversation(port)
      client.socket.pause()
      client.say(post('connection: close\r\ncontent-length: 100000000'))
      await drip((text) => client.say(text.repeat(100_000)), { times: 10, everyMs: 10 })
      client.socket.resume()
      await drip((text) => client.say(text.repeat(100_000)), { times: 10, everyMs: 10 })
      await client.closed
      expect(client.heard().length).toBeGreaterThan(4 * 1024 * 1024)
    }
    expect(serving.inFlight()).toBe(0)
  })

  test('may send on as slowly as an accepted one, and is cut off like that', async () => {
    for (const [times, patience] of [
      [Number.POSITIVE_INFINITY, { wholeMs: 400, silenceMs: 10_000 }],
      [3, { wholeMs: 10_000, silenceMs: 300 }],
    ] as const) {
      const { port } = await start(async () => refuse(), { serving: { timeouts: patience } })
      const client = openConversation(port)
      client.say(post('content-length: 100000'))
      const isClosed = client.closed.then(() => true)
      for (let i = 0; i < times && !client.isClosed(); i++) {
        client.say('x')
        await sleep(100)
      }
      expect(client.heard()).toMatch(/^HTTP\/1.1 401 /)
      expect(await isClosed).toBe(true)
    }
  })

  test.each([
    ['has sent all', 'xxx'],
    ['stays silent', ''],
  ])('is cut off in time where it %s and keeps a connection that was to be closed', async (_title, rest) => {
    const { port, connections } = await start(async () => refuse(), {
      serving: { timeouts: { wholeMs: 10_000, silenceMs: 300 } },
    })
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
    socket.write(post('connection: close\r\ncontent-length: 3'))
    socket.resume()
    await once(socket, 'end')
    socket.write(rest)
    await eventually(async () => (await connections()) === 0)
    socket.destroy()
  })

  test('gets the answer also for a late refusal', async () => {
    const { port } = await start(async () => refuse())
    const client = openConversation(port)
    client.socket.pause()
    client.say(post('content-length: 6000000'))
    await drip((text) => client.say(text.repeat(1_000_000)), { times: 6, everyMs: 500 })
    client.socket.resume()
    client.say('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await eventually(() => client.heard().match(/HTTP\/1.1 401 /g)?.length === 2)
    client.socket.destroy()
  })

  test('gets "connection: close" if its body was not requested, as later bytes would be ambiguous', async () => {
    const { port } = await start(async () => refuse())
    const client = openConversation(port)
    client.say(post('expect: 100-continue\r\ncontent-length: 3'))
    await client.closed
    expect(client.heard()).toMatch(/^HTTP\/1.1 401 [\s\S]*connection: close/i)
  })
})
