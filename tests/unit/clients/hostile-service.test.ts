import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from '@jest/globals'
import { ApiError, ConnectionError } from '../../../sdk/typescript/src/api-error.ts'
import { type Boxyard, createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { holdText } from '../../../sdk/typescript/src/held-answers.ts'

const TOKEN = 'byt_secret'
const MIB = 1024 * 1024

let servers: Server[] = []
const sockets = new Set<Socket>()

afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
  servers = []
})

interface Seen {
  method: string | undefined
  url: string | undefined
  authorization: string | undefined
  body: string
}

/** Serves with `answer`, and returns the origin and the requests received. */
async function serve(answer: RequestListener): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    let body = ''
    request.on('data', (piece: Buffer) => (body += piece.toString()))
    request.on('end', () => {
      seen.push({ method, url, authorization: headers.authorization, body })
      answer(request, response)
    })
  })
  server.on('connection', (socket) => sockets.add(socket))
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))

const redirect =
  (location: string, status = 307): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { location }).end()

const clientOf = (url: string): Boxyard => createBoxyard({ url, token: TOKEN, attempts: 1 })
const readBox = (boxyard: Boxyard): Promise<unknown> => boxyard.box('demo', 'web').info()

async function refusalOf(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ApiError)
  return error as ApiError
}

describe('a redirect', () => {
  test('of a read is followed without the token to another origin', async () => {
    const data = await serve(json({ name: 'web' }))
    const front = await serve((request, response) => redirect(`${data.url}${request.url}`)(request, response))
    expect(await readBox(clientOf(front.url))).toEqual({ name: 'web' })
    expect(front.seen[0]?.authorization).toBe(`Bearer ${TOKEN}`)
    expect(data.seen).toEqual([
      { method: 'GET', url: '/v1/projects/demo/boxes/web', authorization: undefined, body: '' },
    ])
  })

  test.each([301, 302, 303, 308])('of status %d is not followed', async (status) => {
    const other = await serve(json({}))
    const front = await serve(redirect(other.url, status))
    const { code, message } = await refusalOf(readBox(clientOf(front.url)))
    expect([code, message]).toEqual(['unexpected_answer', expect.stringContaining(`redirects to ${other.url}`)])
    expect(other.seen).toEqual([])
  })

  test('never takes a body along', async () => {
    const other = await serve(json({}))
    const front = await serve(redirect(other.url))
    const boxyard = clientOf(front.url)
    await refusalOf(boxyard.box('demo', 'web').writeFile('/root/secret', 'a secret'))
    await refusalOf(boxyard.call('createBox', { path: { project: 'demo' }, body: { name: 'web' } }))
    expect(other.seen).toEqual([])
  })

  test.each([
    'http://169.254.169.254/latest',
    'http://[fe80::1]/',
    'file:///etc/passwd',
    'data:application/json,{}',
    'http://user:password@127.0.0.1/',
    'http://[::1',
  ])('to %s is not followed', async (location) => {
    const front = await serve(redirect(location))
    expect((await refusalOf(readBox(clientOf(front.url)))).code).toBe('unexpected_answer')
  })

  test('that leads to itself ends', async () => {
    const front = await serve(redirect('/again'))
    expect((await refusalOf(readBox(clientOf(front.url)))).code).toBe('unexpected_answer')
    expect(front.seen.length).toBeLessThan(5)
  })
})

describe('the URL of a ticket', () => {
  test.each([
    ['ws+unix:/var/run/docker.sock:/', 'https://boxyard.test'],
    ['ws://boxyard.test/', 'https://boxyard.test'],
    ['wss://127.0.0.1/', 'https://boxyard.test'],
    ['wss://2130706433/', 'https://boxyard.test'],
    ['wss://[::ffff:127.0.0.1]/', 'https://boxyard.test'],
    ['http://boxyard.test/', 'https://boxyard.test'],
    ['ws://169.254.169.254/', 'http://127.0.0.1:1'],
  ])('%s is not used by a client of %s', async (ticket, url) => {
    const fetch = async (): Promise<Response> => Response.json({ url: ticket, method: 'GET' })
    const boxyard = createBoxyard({ url, token: TOKEN, tickets: 'always', fetch })
    const { message } = await refusalOf(boxyard.box('demo', 'web').console())
    expect(message).toContain('an address that this client rejects')
  })
})

describe('an answer', () => {
  /** Writes for as long as the client reads. */
  const flood: RequestListener = (_, response) => {
    const piece = Buffer.alloc(MIB, 'x')
    const write = (): void => {
      while (response.writable && response.write(piece));
    }
    response.on('drain', write)
    write()
  }

  test('without an end is refused, before it takes the memory', async () => {
    const front = await serve(flood)
    const before = process.memoryUsage().rss
    expect((await refusalOf(readBox(clientOf(front.url)))).message).toMatch(/longer than 67108864 bytes/)
    expect(process.memoryUsage().rss - before).toBeLessThan(600 * MIB)
  })

  test('that is a refusal without an end is a refusal', async () => {
    const front = await serve((request, response) => flood(request, response.writeHead(404)))
    expect((await refusalOf(readBox(clientOf(front.url)))).status).toBe(404)
  })

  test('that expands is counted as it is then', async () => {
    const bomb = gzipSync(Buffer.alloc(80 * MIB))
    const front = await serve((_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
    expect((await refusalOf(readBox(clientOf(front.url)))).message).toMatch(/longer than/)
  })

  test('that drips is given up', async () => {
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        controller.enqueue(Uint8Array.of(32))
      },
    })
    const held = holdText(new Response(body), { answerBytes: MIB, answerMs: 50 })
    expect((await refusalOf(held)).message).toBe('The answer did not end within 0.05 s.')
  })

  test('that breaks off is a lost connection', async () => {
    const front = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{', () => response.destroy())
    })
    const lost: unknown = await readBox(clientOf(front.url)).catch((error: unknown) => error)
    expect(lost).toBeInstanceOf(ConnectionError)
    expect((lost as Error).message).toBe('The connection was lost before the end of the answer.')
  })

  test.each(['', 'null', '[]', '"text"', '{"a":', 'NaN'])('that is %j is an error of the SDK', async (text) => {
    const front = await serve((_, response) => void response.end(text))
    expect((await refusalOf(readBox(clientOf(front.url)))).code).toBe('unexpected_answer')
  })
})

describe('a list', () => {
  const listOf = async (page: (count: number) => unknown): Promise<unknown> => {
    let count = 0
    const front = await serve((request, response) => json(page(++count))(request, response))
    const read = async (): Promise<void> => {
      const boxes = clientOf(front.url).list('listBoxes', { path: { project: 'demo' } })
      while ((await boxes.next()).done !== true);
    }
    return refusalOf(read())
  }

  test.each([
    ['gives one token for ever', () => ({ boxes: [{}], has_more: true, next_continuation_token: 'a' })],
    ['goes in a circle', (count: number) => ({ boxes: [{}], has_more: true, next_continuation_token: `${count % 3}` })],
    ['has nothing for ever', (count: number) => ({ boxes: [], has_more: true, next_continuation_token: `${count}` })],
    ['has no list', () => ({ has_more: false, next_continuation_token: null })],
    ['gives a token that is none', () => ({ boxes: [], has_more: true, next_continuation_token: { a: 1 } })],
  ])('that %s is refused', async (_, page) => {
    expect(await listOf(page)).toMatchObject({ code: 'unexpected_answer' })
  })
})

test('Retry-After that cannot be waited is no wait', async () => {
  const times: number[] = []
  const fetch = async (): Promise<Response> => {
    times.push(performance.now())
    return new Response('{}', { status: 503, headers: { 'retry-after': '-1' } })
  }
  await refusalOf(readBox(createBoxyard({ url: 'http://127.0.0.1:1', token: TOKEN, attempts: 2, fetch })))
  const [first = 0, second = 0] = times
  // The client's own delay is at least 0.75 × 0.1 s.
  expect(second - first).toBeGreaterThan(70)
})

test('an id that leads elsewhere is refused', async () => {
  const record = { id: '..', status: 'running', exit_code: null }
  const front = await serve(json(record))
  await refusalOf(clientOf(front.url).box('demo', 'web').run('true'))
  expect(front.seen).toHaveLength(1)
})

test('a token that no header can hold is in no error', async () => {
  const boxyard = createBoxyard({ url: 'http://127.0.0.1:1', token: `${TOKEN}\nx`, attempts: 1 })
  for (const call of [readBox(boxyard), boxyard.box('demo', 'web').console()]) {
    const error: unknown = await call.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(TypeError)
    expect(String((error as Error).stack)).not.toContain(TOKEN)
  }
})
