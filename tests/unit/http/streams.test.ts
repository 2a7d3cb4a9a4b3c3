import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, jest, test } from '@jest/globals'
import { type HttpHandler, jsonResponse } from '../../../shared/http/messages.ts'
import { eventually } from '../../helpers/eventually.ts'
import { converse, createHttpServers, openConversation } from '../../helpers/front/http-server.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const { start, closeAll } = createHttpServers()

afterEach(closeAll)

/** A handler's stream. The iterator's `return` releases it, even before its start. */
function createSource(count = 3) {
  const facts = { pulled: 0, closed: 0 }
  const body: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: async () =>
        facts.pulled < count
          ? { done: false, value: Buffer.from(String(facts.pulled++)) }
          : { done: true, value: undefined },
      return: async () => {
        facts.closed++
        return { done: true, value: undefined }
      },
    }),
  }
  return { facts, body }
}

const get = (method = 'GET') => `${method} / HTTP/1.1\r\nhost: a\r\n\r\n`

describe('a stream is closed unread', () => {
  test.each([
    ['HEAD', 200],
    ['GET', 304],
    ['GET', 204],
  ])('after %s answered %i, whose headers stay', async (method, status) => {
    const { facts, body } = createSource()
    const { port } = await start(async () => ({ status, headers: { 'content-length': '3', etag: '"1"' }, body }))
    const heard = await converse(port, get(method) + get(method))
    expect(heard.match(new RegExp(`HTTP/1.1 ${status} `, 'g'))).toHaveLength(2)
    expect(heard).toContain('etag: "1"')
    if (method === 'HEAD') expect(heard).toContain('content-length: 3')
    expect(
      heard
        .split('\r\n\r\n')
        .slice(1)
        .every((rest) => rest === '' || rest.startsWith('HTTP/1.1')),
    ).toBe(true)
    expect(facts).toEqual({ pulled: 0, closed: 2 })
  })

  test('when its client has left before its first byte', async () => {
    const { facts, body } = createSource()
    const reached = Promise.withResolvers<void>()
    const { port } = await start(async ({ signal }) => {
      reached.resolve()
      await new Promise((left) => signal.addEventListener('abort', left))
      return { status: 200, headers: {}, body }
    })
    const client = openConversation(port)
    client.say(get())
    await reached.promise
    client.socket.destroy()
    await eventually(() => facts.closed > 0)
    expect(facts).toEqual({ pulled: 0, closed: 1 })
  })

  test('though closing it throws', async () => {
    let destroyed = 0
    const { port } = await start(async () => {
      const body = new Readable({
        read: () => {},
        destroy: (_error, done) => {
          destroyed++
          setImmediate(done, new Error('cut off'))
        },
      })
      return { status: 200, headers: {}, body }
    })
    await converse(port, get('HEAD'))
    expect(destroyed).toBe(1)
  })
})

describe('a stream that is sent', () => {
  test('arrives whole, from an iterable and from a Readable', async () => {
    for (const body of [createSource().body, Readable.from([Buffer.from('0'), Buffer.from('12')])]) {
      const { url } = await start(async () => ({ status: 200, headers: { 'content-length': '3' }, body }))
      expect(await (await fetch(url)).text()).toBe('012')
    }
  })

  test('is closed when its client leaves in the middle', async () => {
    const { facts, body } = createSource(Number.POSITIVE_INFINITY)
    const warn = jest.fn()
    const serving = { logger: { ...silentLogger, warn } }
    const { port } = await start(async () => ({ status: 200, headers: {}, body }), { serving })
    const client = openConversation(port)
    client.say(get())
    await eventually(() => facts.pulled > 0)
    client.socket.destroy()
    await eventually(() => facts.closed === 1)
    await closeAll()
    expect(warn).not.toHaveBeenCalled()
  })

  test('that throws breaks the connection off, so that it is not taken for whole, and is logged', async () => {
    const warn = jest.fn()
    const halfBody = async function* () {
      yield Buffer.from('half')
      throw new Error('the disk is gone')
    }
    const serving = { logger: { ...silentLogger, warn } }
    const { url } = await start(async () => ({ status: 200, headers: {}, body: halfBody() }), { serving })
    await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow()
    expect(warn.mock.calls).toEqual([['A response was interrupted', { error: new Error('the disk is gone') }]])
  })
})

describe('requests sent without waiting', () => {
  const byTarget: HttpHandler = async ({ target, readBody }) => {
    const { length } = await readBody(100)
    await sleep(target === '/slow' ? 200 : 0)
    return jsonResponse(200, { target, length })
  }

  test('are answered in order', async () => {
    const { port, serving } = await start(byTarget)
    const client = openConversation(port)
    client.say('POST /slow HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nab')
    client.say('GET /fast HTTP/1.1\r\nhost: a\r\n\r\nPOST /third HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nc')
    await eventually(() => client.heard().includes('/third') && serving.inFlight() === 0)
    const answers = client.heard().match(/\{.*?\}/g)
    expect(answers).toEqual([
      '{"target":"/slow","length":2}',
      '{"target":"/fast","length":0}',
      '{"target":"/third","length":1}',
    ])
    client.socket.destroy()
  })

  test('are dropped when their client leaves, and their answers are closed', async () => {
    const sources = [createSource(), createSource()]
    const reached = Promise.withResolvers<void>()
    const { port, serving } = await start(async ({ target, signal }) => {
      if (target === '/slow') {
        reached.resolve()
        await new Promise((left) => signal.addEventListener('abort', left))
      }
      return { status: 200, headers: {}, body: sources[target === '/slow' ? 0 : 1]?.body ?? null }
    })
    const client = openConversation(port)
    client.say('GET /slow HTTP/1.1\r\nhost: a\r\n\r\nGET /b HTTP/1.1\r\nhost: a\r\n\r\n')
    await reached.promise
    client.socket.destroy()
    await eventually(() => sources[0]?.facts.closed === 1 && serving.inFlight() === 0)
    expect(sources[0]?.facts).toEqual({ pulled: 0, closed: 1 })
  })

  test('and rubbish after them is not answered in the middle of another answer', async () => {
    const { port } = await start(async ({ target }) => {
      if (target === '/first') return jsonResponse(200, {})
      const body = (async function* () {
        for (let i = 0; i < 5; i++) {
          yield Buffer.from(`part${i}`)
          await sleep(60)
        }
      })()
      return { status: 200, headers: {}, body }
    })
    const client = openConversation(port)
    client.say('GET /first HTTP/1.1\r\nhost: a\r\n\r\nGET /parts HTTP/1.1\r\nhost: a\r\n\r\n')
    await eventually(() => client.heard().includes('part0'))
    client.say('\0\0 rubbish\r\n\r\n')
    await client.closed
    expect(client.heard()).toContain('part0')
    expect(client.heard()).not.toContain('400 Bad Request')
  })
})

describe('behind streams in progress', () => {
  const asking = 'GET /none HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n'
  const connecting = 'CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n'

  /** Serves endless streams and tracks the open ones. Resolves `reached` at the request that waits. */
  function createEndless() {
    const open = new Set<object>()
    const reached = Promise.withResolvers<void>()
    const handler: HttpHandler = async ({ target, signal }) => {
      if (target === '/waits') {
        reached.resolve()
        await new Promise((left) => signal.addEventListener('abort', left))
      }
      const body = new Readable({
        read: () => body.push(Buffer.alloc(64 * 1024)),
        destroy: (error, done) => {
          open.delete(body)
          done(error)
        },
      })
      open.add(body)
      return { status: 200, headers: {}, body }
    }
    return { open, reached: reached.promise, handler }
  }

  test.each([
    ['an upgrade', asking],
    ['CONNECT', connecting],
  ])('%s does not keep them, nor the end of the server, once their client has left', async (_name, last) => {
    // A server that accepts upgrades at any time must release them as well.
    for (const server of [{}, { shouldUpgradeCallback: () => true }]) {
      const { open, reached, handler } = createEndless()
      const { port, serving } = await start(handler, { server })
      const client = openConversation(port)
      client.socket.pause()
      client.say(get() + get() + 'GET /waits HTTP/1.1\r\nhost: a\r\n\r\n' + last)
      await reached
      client.socket.destroy()
      await serving.drain(AbortSignal.timeout(1500))
      await eventually(() => serving.inFlight() === 0 && open.size === 0)
    }
  })

  test('an upgrade is answered in its turn, as a plain request', async () => {
    const { port } = await start(async ({ target }) => {
      await sleep(target === '/' ? 100 : 0)
      return jsonResponse(200, { target })
    })
    const heard = await converse(port, get() + asking)
    expect(heard.match(/\{.*?\}/g)).toEqual(['{"target":"/"}', '{"target":"/none"}'])
  })
})
