import { getEventListeners, once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { WebSocketServer } from 'ws'
import { createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { openNodeSocket, openWebSocket } from '../../../sdk/typescript/src/message-socket.ts'
import { eventually } from '../../helpers/eventually.ts'

const WHY = new Error('enough')
const closers: (() => void)[] = []

afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  closers.push(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Accepts connections without answering, and returns the open ones. */
async function openMute(): Promise<{ port: number; sockets: Set<Socket>; taken: Promise<unknown> }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
    socket.resume()
  })
  closers.push(() => {
    for (const socket of sockets) socket.destroy()
  })
  return { port: await portOf(server), sockets, taken: once(server, 'connection') }
}

/** Accepts WebSockets and writes `hello` to stdout. */
async function openTalker(answersClose = true): Promise<{ port: number; ended: Promise<unknown> }> {
  const http = createHttpServer()
  const server = new WebSocketServer({ server: http, handleProtocols: (names) => [...names][0] ?? false })
  const ended = new Promise((resolve) => {
    server.on('connection', (socket, { socket: wire }) => {
      socket.send(Buffer.from('\x01hello'))
      wire.once('close', resolve)
      closers.push(() => socket.terminate())
      if (!answersClose) wire.pause()
    })
  })
  return { port: await portOf(http), ended }
}

/**
 * Runs commands with ids that exit at once. With `isLost`, their sockets are lost and their records continue. Returns its other requests.
 */
async function openRunner({
  isLost = false,
} = {}): Promise<{ port: number; requests: string[]; server: WebSocketServer }> {
  const requests: string[] = []
  const http = createHttpServer(({ method, url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://service')
    requests.push(`${method} ${pathname.split('/').at(-1)}`)
    const offset = Number(searchParams.get('offset'))
    // `more` follows `hello`.
    const more = offset === 5 ? { data: 'bW9yZQ==', next_offset: 9 } : { data: '', next_offset: offset }
    const page = { ...more, offset, truncated: false, end: false }
    response.setHeader('content-type', 'application/json')
    setTimeout(() => response.end(JSON.stringify({ id: 'exec_1', status: 'exited', ...page })), 20)
  })
  const server = new WebSocketServer({ server: http, handleProtocols: (names) => [...names][0] ?? false })
  server.on('headers', (headers) => headers.push('X-Exec-Id: exec_1'))
  server.on('connection', (socket) => {
    closers.push(() => socket.terminate())
    socket.send(Buffer.from('\x01hello'))
    if (isLost) setTimeout(() => socket.terminate(), 20)
    else socket.send(Buffer.from('\x03{"status":"Success"}'))
  })
  closers.push(() => http.closeAllConnections())
  return { port: await portOf(http), requests, server }
}

const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100))

async function untilEmpty(set: Set<unknown>): Promise<void> {
  while (set.size > 0) await new Promise((resolve) => setTimeout(resolve, 5))
}

const boxAt = (port: number) =>
  createBoxyard({ url: `http://127.0.0.1:${port}`, token: 't', attempts: 1 }).box('demo', 'web')

test.each([
  ['ws', openNodeSocket],
  ['the platform', openWebSocket],
])('a socket of %s that is aborted while it connects is ended', async (_, open) => {
  const { port, sockets, taken } = await openMute()
  const leaving = new AbortController()
  const opening = open({ url: `ws://127.0.0.1:${port}/`, protocol: 'p', signal: leaving.signal }, {})
  await taken
  leaving.abort(WHY)
  await expect(opening).rejects.toBe(WHY)
  await untilEmpty(sockets)
})

test.each([true, false])(
  'a stream that is aborted ends at once, if its server answers the close: %s',
  async (answers) => {
    const { port, ended } = await openTalker(answers)
    const leaving = new AbortController()
    const stream = await boxAt(port).stream(['sleep', '773'], { signal: leaving.signal, stdin: true })
    const read = async (): Promise<string> => {
      let text = ''
      for await (const { bytes } of stream) {
        text += Buffer.from(bytes).toString()
        setTimeout(() => leaving.abort(WHY), 10)
      }
      return text
    }
    await expect(read()).rejects.toBe(WHY)
    await expect(stream.write(Buffer.from('late'))).rejects.toBe(WHY)
    if (answers) await ended
  },
)

test.each(['stream', 'run', 'console', 'connect', 'events'] as const)(
  '%s does not begin after its abort',
  async (what) => {
    const { port, sockets } = await openMute()
    const signal = AbortSignal.abort(WHY)
    const box = boxAt(port)
    const begin = {
      stream: () => box.stream(['true'], { signal }),
      run: () => box.run('true', { signal }),
      console: () => box.console({ signal }),
      connect: () => box.connect(80, { signal }),
      events: () =>
        createBoxyard({ url: `http://127.0.0.1:${port}` })
          .events('demo', { signal })
          .next(),
    }
    await expect(begin[what]()).rejects.toBe(WHY)
    expect(sockets.size).toBe(0)
  },
)

test.each(['stream', 'detached', 'console', 'connect', 'events'] as const)('%s gives up its opening', async (what) => {
  const { port, sockets, taken } = await openMute()
  const leaving = new AbortController()
  const { signal } = leaving
  const box = boxAt(port)
  const begin = {
    stream: () => box.stream(['true'], { signal }),
    detached: () => box.stream(['true'], { signal, noHup: true, onAbort: 'detach' }),
    console: () => box.console({ signal }),
    connect: () => box.connect(80, { signal }),
    events: () =>
      createBoxyard({ url: `http://127.0.0.1:${port}` })
        .events('demo', { signal })
        .next(),
  }
  const beginning = begin[what]()
  await taken
  leaving.abort(WHY)
  await expect(beginning).rejects.toBe(WHY)
  await untilEmpty(sockets)
})

test('a port that is aborted breaks in both directions', async () => {
  const { port } = await openTalker()
  const leaving = new AbortController()
  const { readable, writable } = await boxAt(port).connect(80, { signal: leaving.signal })
  const reader = readable.getReader()
  await reader.read()
  leaving.abort(WHY)
  await expect(reader.read()).rejects.toBe(WHY)
  await expect(writable.getWriter().write(Buffer.from('late'))).rejects.toBe(WHY)
})

test.each([true, false])('an abort does nothing to streams that have ended, with noHup: %s', async (noHup) => {
  const { port, requests, server } = await openRunner()
  const leaving = new AbortController()
  const { signal } = leaving
  for (let count = 0; count < 3; count++) {
    const stream = await boxAt(port).stream(['true'], { signal, noHup })
    expect(await stream.ended()).toMatchObject({ exitCode: 0 })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  }
  await untilEmpty(server.clients)
  leaving.abort(WHY)
  await moment()
  expect(requests).toEqual([])
})

test('a port whose both directions have ended leaves its signal', async () => {
  const http = createHttpServer()
  const server = new WebSocketServer({ server: http, handleProtocols: (names) => [...names][0] ?? false })
  const said: string[] = []
  server.on('connection', (socket) => {
    closers.push(() => socket.terminate())
    socket.on('message', (data: Buffer) => said.push(data.toString())).send('end')
  })
  const { signal } = new AbortController()
  const { readable, writable } = await boxAt(await portOf(http)).connect(80, { signal })
  const writer = writable.getWriter()
  expect(await readable.getReader().read()).toMatchObject({ done: true })
  await writer.write(Buffer.from('late'))
  await writer.close()
  await untilEmpty(server.clients)
  expect(said).toEqual(['late', 'end'])
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test.each(['stops before', 'stops after', 'reads on'])(
  'a lost stream whose reader %s an abort is ended by its id',
  async (how) => {
    const { port, requests } = await openRunner({ isLost: true })
    const leaving = new AbortController()
    const { signal } = leaving
    const stream = await boxAt(port).stream(['sleep', '773'], { signal, noHup: true })
    const output = stream[Symbol.asyncIterator]()
    await output.next()
    const next = output.next()
    next.catch(() => undefined)
    await eventually(() => requests.includes('GET output'))
    if (how === 'stops before') void output.return?.()
    leaving.abort(WHY)
    if (how === 'stops after') void output.return?.()
    await eventually(() => requests.includes('GET exec_1'))
    expect(requests.filter((each) => each.startsWith('POST'))).toEqual(['POST signal'])
    expect(getEventListeners(signal, 'abort')).toEqual([])
  },
)

test('a lost stream that is closed leaves its signal', async () => {
  const { port, requests } = await openRunner({ isLost: true })
  const leaving = new AbortController()
  const stream = await boxAt(port).stream(['sleep', '773'], { signal: leaving.signal, noHup: true })
  const output = stream[Symbol.asyncIterator]()
  for (let count = 0; count < 2; count++) await output.next()
  stream.close()
  leaving.abort(WHY)
  await moment()
  expect(requests.filter((each) => each.startsWith('POST'))).toEqual([])
})

test('a service that answers no start keeps nobody for longer than 5 s after an abort', async () => {
  const http = createHttpServer()
  const server = new WebSocketServer({ server: http, handleProtocols: (names) => [...names][0] ?? false })
  const started = new Promise((resolve) => server.on('connection', (socket) => socket.once('message', resolve)))
  const leaving = new AbortController()
  const { signal } = leaving
  const beginning = boxAt(await portOf(http)).stream(['echo', 'x'.repeat(10_000)], { signal, noHup: true })
  await started
  leaving.abort(WHY)
  await expect(beginning).rejects.toBe(WHY)
  expect(server.clients.size).toBe(1)
  await untilEmpty(server.clients)
}, 10_000)
