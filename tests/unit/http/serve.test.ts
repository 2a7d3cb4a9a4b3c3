import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { type HttpHandler, type HttpRequest, jsonResponse, problemResponse } from '../../../shared/http/messages.ts'
import { eventually, untilSteady } from '../../helpers/eventually.ts'
import { converse, createHttpServers, openConversation } from '../../helpers/front/http-server.ts'

const { start, closeAll } = createHttpServers()

afterEach(closeAll)

const echoSize =
  (maxBytes: number): HttpHandler =>
  async (request) => {
    try {
      return jsonResponse(200, { size: (await request.readBody(maxBytes)).length })
    } catch (error) {
      return problemResponse(error, 'req-1')
    }
  }

describe('a request', () => {
  test('reaches the handler with method, raw target, headers and peer', async () => {
    let seen: HttpRequest | undefined
    const { port } = await start(async (request) => {
      seen = request
      return jsonResponse(200, {})
    })
    await converse(port, 'PUT /a/../b%2Fc?x=1&x=%zz HTTP/1.1\r\nhost: a\r\nIf-Match: "1"\r\nif-match: "2"\r\n\r\n')
    expect(seen).toMatchObject({ method: 'PUT', target: '/a/../b%2Fc?x=1&x=%zz', clientAddress: '127.0.0.1' })
    expect(seen?.headers['if-match']).toBe('"1", "2"')
  })

  test.each([
    ['GET http://elsewhere/v1/me?x=1', '/v1/me?x=1'],
    ['GET http://elsewhere', '/'],
    ['OPTIONS *', '/*'],
  ])('%s has target %s', async (line, target) => {
    const { port } = await start(async (request) => jsonResponse(200, { target: request.target }))
    expect(await converse(port, `${line} HTTP/1.1\r\nhost: a\r\n\r\n`)).toContain(JSON.stringify({ target }))
  })
})

describe('the body', () => {
  test('is read whole up to the limit', async () => {
    const { url } = await start(echoSize(1000))
    const answer = await fetch(url, { method: 'POST', body: 'x'.repeat(1000) })
    expect(await answer.json()).toEqual({ size: 1000 })
  })

  test('is empty if there is none', async () => {
    const { url } = await start(echoSize(0))
    expect(await (await fetch(url)).json()).toEqual({ size: 0 })
  })

  test('declared too long is refused before it is sent', async () => {
    const { port } = await start(echoSize(1000))
    const heard = await converse(port, 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1001\r\n\r\n')
    expect(heard).toMatch(/^HTTP\/1.1 413 /)
    expect(heard).toContain('"code":"body_too_large"')
  })

  test('that grows too long in chunks is refused while it arrives', async () => {
    const { port } = await start(echoSize(1000))
    const chunk = `200\r\n${'x'.repeat(512)}\r\n`
    const heard = await converse(
      port,
      `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${chunk}${chunk}`,
    )
    expect(heard).toMatch(/^HTTP\/1.1 413 /)
  })

  test('too long is answered even to a client that sends all of it', async () => {
    const { url } = await start(echoSize(1000))
    for (let i = 0; i < 5; i++) {
      const answer = await fetch(url, { method: 'POST', body: Buffer.alloc(8 * 1024 * 1024) })
      expect(answer.status).toBe(413)
      await answer.arrayBuffer()
    }
  })

  test('is requested from a client with 100 Continue only when it will be read', async () => {
    const { port } = await start(echoSize(1000))
    const head = (size: number) =>
      `POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: ${size}\r\n\r\n`
    expect(await converse(port, head(10))).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    expect(await converse(port, head(1001))).toMatch(/^HTTP\/1.1 413 /)
  })

  test('that breaks off is an invalid request', async () => {
    const [reached, failure] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()]
    const { port } = await start(async ({ readBody }) => {
      reached.resolve()
      await readBody(100).catch(failure.resolve)
      return jsonResponse(200, {})
    })
    const client = openConversation(port)
    client.say('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc')
    await reached.promise
    client.socket.destroy()
    expect(await failure.promise).toMatchObject({ code: 'invalid_request' })
  })
})

describe('requests that never reach the app', () => {
  test.each([
    ['rubbish', '\0\0\0\r\n\r\n', 400],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
    ['what only a proxy takes', 'CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n', 400],
    ['a head too large', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 400],
  ])('%s is answered in the one error shape', async (_name, text, status) => {
    const { port } = await start(async () => jsonResponse(200, {}))
    const heard = await converse(port, text)
    expect(heard.startsWith(`HTTP/1.1 ${status} `)).toBe(true)
    expect(heard).toContain('content-type: application/problem+json')
    expect(JSON.parse(heard.split('\r\n\r\n')[1] ?? '')).toMatchObject({ code: 'invalid_request', status })
  })

  test('a second request on the connection is answered in the one error shape as well', async () => {
    const { port } = await start(async () => jsonResponse(200, {}))
    const socket = connect(port, '127.0.0.1')
    let heard = ''
    socket.on('data', (chunk) => (heard += chunk.toString()))
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await eventually(() => heard.includes('200 OK'))
    socket.write('\0\0\r\n\r\n')
    await new Promise((resolve) => socket.once('close', resolve))
    expect(heard).toMatch(/200 OK[\s\S]*HTTP\/1.1 400 Bad Request/)
  })

  test('a client that sends its head too slowly is cut off', async () => {
    const { port } = await start(async () => jsonResponse(200, {}), {
      server: { headersTimeout: 100, connectionsCheckingInterval: 50 },
    })
    expect(await converse(port, 'GET / HTTP/1.1\r\nhost: a\r\n', 2000)).toContain('took too long to arrive')
  })
})

describe('a client that leaves', () => {
  test('aborts the signal of its request', async () => {
    const reached = Promise.withResolvers<AbortSignal>()
    const { url } = await start(async ({ signal }) => {
      reached.resolve(signal)
      await new Promise((left) => signal.addEventListener('abort', left))
      return jsonResponse(200, {})
    })
    const client = httpRequest(url)
    client.on('error', () => {})
    client.end()
    const signal = await reached.promise
    expect(signal.aborted).toBe(false)
    client.destroy()
    await eventually(() => signal.aborted)
  })

  test('does not abort the signal by being answered', async () => {
    let signal: AbortSignal | undefined
    const { url } = await start(async (request) => {
      signal = request.signal
      return jsonResponse(200, {})
    })
    await (await fetch(url)).text()
    await sleep(20)
    expect(signal?.aborted).toBe(false)
  })
})

describe('a stream', () => {
  test('is read no faster than its client reads, and ends when the client leaves', async () => {
    let produced = 0
    let ended = false
    const chunk = Buffer.alloc(64 * 1024)
    async function* produce() {
      try {
        for (let i = 0; i < 10_000; i++) {
          produced += chunk.length
          yield chunk
        }
      } finally {
        ended = true
      }
    }
    const { port } = await start(async () => ({ status: 200, headers: {}, body: produce() }))
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'))
    socket.pause()
    expect(await untilSteady(() => produced, 500)).toBeLessThan(32 * 1024 * 1024)
    socket.destroy()
    await eventually(() => ended)
  })
})

describe('a handler that throws', () => {
  test('is answered as internal without the reason', async () => {
    const { url } = await start(async () => {
      throw new Error('the password is hunter2')
    })
    const answer = await fetch(url, { headers: { 'x-request-id': 'mine' } })
    expect(answer.status).toBe(500)
    const problem = await answer.text()
    expect(JSON.parse(problem)).toMatchObject({ code: 'internal', request_id: 'mine', retryable: true })
    expect(problem).not.toContain('hunter2')
  })
})

describe('draining', () => {
  test('lets a request in flight end, takes no new connection and closes idle ones', async () => {
    const end = Promise.withResolvers<void>()
    const { url, serving } = await start(async () => {
      await end.promise
      return jsonResponse(200, {})
    })
    const inFlight = fetch(url)
    await eventually(() => serving.inFlight() === 1)
    const drained = serving.drain(AbortSignal.timeout(5000))
    await expect(fetch(url)).rejects.toThrow()
    end.resolve()
    const answer = await inFlight
    expect(answer.status).toBe(200)
    await answer.text()
    await drained
    expect(serving.inFlight()).toBe(0)
  })

  test('breaks off streams of events at once, which would never end', async () => {
    const { url, serving } = await start(async () => ({
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: (async function* () {
        yield Buffer.from('retry: 1000\n\n')
        await new Promise(() => {})
      })(),
    }))
    const { body } = await fetch(url)
    const reader = body?.getReader()
    expect((await reader?.read())?.done).toBe(false)
    await serving.drain(new AbortController().signal)
    await expect(reader?.read()).rejects.toThrow()
    expect(serving.inFlight()).toBe(0)
  })

  test('cuts off what has not ended by its deadline', async () => {
    const { url, serving } = await start(() => new Promise(() => {}))
    const cutOff = expect(fetch(url)).rejects.toThrow()
    await eventually(() => serving.inFlight() === 1)
    await serving.drain(AbortSignal.timeout(100))
    await cutOff
  })
})
