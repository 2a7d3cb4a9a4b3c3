import { once } from 'node:events'
import { createServer, request as httpRequest, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as nextRound } from 'node:timers/promises'
import { afterEach, expect, test } from '@jest/globals'
import { createFlowTurns, type FlowTurns, ROUND_BYTES, TURN_BYTES } from '../../../shared/flow-turns.ts'
import { joinSockets } from '../../../shared/http/joined-sockets.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, serve } from '../../../shared/http/serve.ts'
import { piecesByTurns } from '../../../shared/pulled-flow.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const STREAMS = 16
const PIECE = Buffer.alloc(64 * 1024)
const closers: (() => void)[] = []

afterEach(() => {
  for (const close of closers.splice(0).reverse()) close()
})

/** Turns without an allowance, and the number of bytes that went through them. */
function createCounted(): { turns: FlowTurns; counted: { bytes: number; open: number } } {
  const counted = { bytes: 0, open: 0 }
  const turns = createFlowTurns({ pace: { bytesPerRound: ROUND_BYTES }, allowance: { burst: 0, perSecond: 0 } })
  return {
    counted,
    turns: {
      ...turns,
      open: (owner, valve) => {
        const flow = turns.open(owner, valve)
        counted.open++
        let isOpen = true
        const counting =
          (pass: 'count' | 'ask') =>
          (size: number): void => {
            counted.bytes += size
            flow[pass](size)
          }
        return {
          hurry: (size) => flow.hurry(size),
          count: counting('count'),
          ask: counting('ask'),
          close: () => {
            if (isOpen) counted.open--
            isOpen = false
            flow.close()
          },
        }
      },
    },
  }
}

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => server.close())
  return (server.address() as AddressInfo).port
}

async function serveHttp(handler: HttpHandler): Promise<number> {
  const server = createServer(SERVER_OPTIONS)
  serve(server, { handler, logger: silentLogger, now: () => 0 })
  closers.push(() => server.closeAllConnections())
  return listen(server)
}

async function drain(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const source = pieces[Symbol.asyncIterator]()
  while ((await source.next()).done !== true);
}

async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) yield PIECE
}

/** Starts a client that sends or receives as much as it can. Returns a function that disconnects it. */
function get(port: number): () => void {
  const asked = httpRequest({ port, agent: false }, (answer) => answer.on('error', () => undefined).resume())
  asked.on('error', () => undefined).end()
  return () => asked.destroy()
}

function put(port: number): () => void {
  const asked = httpRequest({ port, method: 'PUT', agent: false, headers: { 'transfer-encoding': 'chunked' } })
  asked.on('error', () => undefined)
  Readable.from(endless(), { objectMode: false }).pipe(asked)
  return () => asked.destroy()
}

function open(port: number): () => void {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  Readable.from(endless(), { objectMode: false }).pipe(socket)
  return () => socket.destroy()
}

/** Bodies that end before the server sends them, in each way. */
const OVER: Record<string, () => Readable> = {
  'was read to its end': () => Readable.from([]).resume(),
  'was destroyed': () => new Readable({ read: () => undefined }).destroy(),
  failed: () => new Readable({ read: () => undefined }).on('error', () => undefined).destroy(new Error('failed')),
}

test.each(Object.entries(OVER))('a body that %s before it is sent: the answer ends', async (how, bodyOf) => {
  const body = bodyOf()
  await new Promise((resolve) => body.once('close', resolve))
  const port = await serveHttp(async () => ({ status: 200, headers: {}, body }))
  const isWhole = await new Promise((resolve) => {
    const asked = httpRequest({ port, agent: false }, (answer) => {
      answer.on('error', () => undefined).resume()
      answer.once('close', () => resolve(answer.complete))
    })
    asked.once('error', () => resolve(false)).end()
  })
  expect(isWhole).toBe(how === 'was read to its end')
})

const owner = { project: 'loud', box: 'web' }
const answerOf = (turns: FlowTurns, body: AsyncIterable<Uint8Array>) => ({
  ...{ status: 200, headers: {}, body },
  openFlow: (valve: Parameters<FlowTurns['open']>[1]) => turns.open(owner, valve),
})

/** Servers that pass bytes in turns. `start` returns the port for clients. */
const KINDS: Record<string, { start(turns: FlowTurns): Promise<number>; begin(port: number): () => void }> = {
  'answers in pieces': { begin: get, start: (turns) => serveHttp(async () => answerOf(turns, endless())) },
  'answers that are streams': {
    begin: get,
    start: (turns) => serveHttp(async () => answerOf(turns, Readable.from(endless(), { objectMode: false }))),
  },
  uploads: {
    begin: put,
    start: (turns) =>
      serveHttp(async (request) => {
        await drain(piecesByTurns(request.openBody(), owner, turns))
        return { status: 204, headers: {}, body: null }
      }),
  },
  'joined sockets': {
    begin: open,
    start: async (turns) => {
      const sink = await listen(createTcpServer((socket) => socket.on('error', () => undefined).resume()))
      return listen(
        createTcpServer({ allowHalfOpen: true }, (client: Socket) => {
          const other = connect(sink, '127.0.0.1')
          closers.push(() => other.destroy())
          void joinSockets(client, other, (valve) => turns.open(owner, valve))
        }),
      )
    },
  },
}

test.each(Object.entries(KINDS))(
  '%s at full speed: a round of the loop passes a bounded number of bytes, and all parts are given back',
  async (_, kind) => {
    const { turns, counted } = createCounted()
    const port = await kind.start(turns)
    const leave = Array.from({ length: STREAMS }, () => kind.begin(port))
    while (counted.bytes < 32 * ROUND_BYTES) await nextRound()
    let most = 0
    const until = counted.bytes + 64 * ROUND_BYTES
    while (counted.bytes < until) {
      const before = counted.bytes
      await nextRound()
      most = Math.max(most, counted.bytes - before)
    }
    // Each stream in its turn can bring one piece more than the turn allows.
    expect(most).toBeLessThanOrEqual(2 * ROUND_BYTES + 2 * TURN_BYTES)
    for (const each of leave) each()
    while (counted.open > 0) await nextRound()
  },
)
