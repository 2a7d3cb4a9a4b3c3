import { chmodSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { type HttpHandler, headerOf, parseQuery, splitTarget } from '../../../shared/http/messages.ts'
import { NOSNIFF } from '../../../shared/http/nosniff.ts'
import { PLAIN_SERVER_OPTIONS, serve } from '../../../shared/http/serve.ts'
import type { Logger } from '../../../shared/log.ts'
import type { EdgeDecision, EdgeGate, EdgeRequest } from '../../ports/edge/edge.ts'
import { encodeCell } from './config-cells.ts'
import { FallbackServer } from './fallback-server.ts'
import { encodeRoute } from './names.ts'

export interface GateServerOptions {
  /** Sockets of decisions, of the agent's own pages, of certificate requests, and of requests that a box did not answer. */
  paths: { gate: string; pages: string; asks: string; fallback: string }
  gate: EdgeGate
  /** Value of `EDGE_REFUSAL_HEADER`. */
  refusalMark: string
  pages: HttpHandler
  /** Limits the connections of a server. */
  bound(server: Server): void
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
}

/** Servers that answer the edge. */
export interface GateServer {
  fallback: Pick<FallbackServer, 'cut'>
  close(): Promise<void>
}

/** Listens on the sockets, and replaces the sockets of a previous agent. */
export async function openGateServer(options: GateServerOptions): Promise<GateServer> {
  const { paths, pages, logger, now, bound } = options
  const questions = createServer((socket) => answerQuestion(socket, options))
  const open = new Set<Socket>()
  questions.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  const server = createHttpServer({ ...PLAIN_SERVER_OPTIONS, maxHeaderSize: QUESTION_BYTES })
  const serving = serve(server, { handler: withClientAddress(pages), logger, now })
  bound(questions)
  bound(server)
  await listenAt(questions, paths.gate)
  await listenAt(server, paths.pages)
  const askServer = createHttpServer(PLAIN_SERVER_OPTIONS)
  bound(askServer)
  const answering = serve(askServer, { handler: askHandler(options), logger, now })
  await listenAt(askServer, paths.asks)
  const fallback = new FallbackServer(options)
  await listenAt(fallback.server, paths.fallback)
  return {
    fallback,
    close: async () => {
      const closed = new Promise<void>((resolve) => questions.close(() => resolve()))
      for (const socket of open) socket.destroy()
      await Promise.all([
        closed,
        fallback.close(),
        serving.drain(AbortSignal.abort()),
        answering.drain(AbortSignal.abort()),
      ])
    },
  }
}

// World-writable, as the edge is not root. Only root and the edge can enter the directory.
async function listenAt(server: Server, path: string): Promise<void> {
  rmSync(path, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  chmodSync(path, 0o666)
}

/** Answers 200 if the edge can request a certificate for `?domain=`, else 403. */
function askHandler({ gate }: GateServerOptions): HttpHandler {
  return async ({ target }) => {
    const host = parseQuery(splitTarget(target).search).get('domain') ?? ''
    return { status: (await gate.certifies(host)) ? 200 : 403, headers: {}, body: '' }
  }
}

// The peer is the edge, which has set `x-forwarded-for` to the client's address.
function withClientAddress(handler: HttpHandler): HttpHandler {
  return (request) =>
    handler({
      method: request.method,
      target: request.target,
      headers: request.headers,
      clientAddress: headerOf(request.headers, 'x-forwarded-for') ?? '',
      get signal() {
        return request.signal
      },
      readBody: (maxBytes) => request.readBody(maxBytes),
      openBody: () => request.openBody(),
    })
}

function answerQuestion(socket: Socket, { gate, logger }: GateServerOptions): void {
  let text = ''
  socket.setEncoding('latin1')
  socket.on('error', () => socket.destroy())
  socket.setTimeout(QUESTION_MS, () => socket.destroy())
  const read = (piece: string): void => {
    text += piece
    if (text.length > QUESTION_BYTES) socket.destroy()
    if (!text.endsWith('\n\n')) return
    socket.off('data', read)
    socket.setTimeout(0)
    void decide(text).then((answer) => socket.end(answer))
  }
  const decide = async (question: string): Promise<Buffer> => {
    try {
      return encodeDecision(await gate.decide(parseQuestion(question)))
    } catch (error) {
      logger.error('failed to decide on a request at the edge', { error })
      return encodeDecision({ kind: 'answer', status: 500, headers: {}, body: '' })
    }
  }
  socket.on('data', read)
}

function parseQuestion(text: string): EdgeRequest {
  const [method = '', host = '', target = '', clientAddress = '', facts = '', ...lines] = text.trimEnd().split('\n')
  const known = facts.split(' ')
  const headers = lines.map((line): [string, string] => {
    const mark = line.indexOf(': ')
    return [line.slice(0, mark), line.slice(mark + 2)]
  })
  return {
    method,
    host,
    target: originForm(target),
    headers: Object.fromEntries(headers),
    clientAddress,
    isSecure: known.includes('secure'),
    isLed: known.includes('led'),
    isOwn: known.includes('own'),
  }
}

// HTTP/2 targets arrive in absolute form.
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '') || '/'
}

/** Encodes a decision in the format that gate.lua parses. */
function encodeDecision(decision: EdgeDecision): Buffer {
  if (decision.kind === 'forward') return Buffer.from(`forward ${encodeRoute(decision.route)}\n`)
  if (decision.kind === 'lead') return Buffer.from(`lead ${encodeCell(decision.to)}\n`)
  if (decision.kind === 'own') return Buffer.from('own\n')
  const body = Buffer.from(decision.body)
  const headers = Object.entries({ ...NOSNIFF, ...decision.headers }).flatMap(([name, value]) =>
    [value].flat().map((one) => `${checkToken(name)}: ${one.replace(/[\r\n\0]/g, ' ')}\n`),
  )
  const head = `answer ${decision.status} ${headers.length} ${body.length}\n${headers.join('')}`
  return Buffer.concat([Buffer.from(head, 'latin1'), body])
}

function checkToken(name: string): string {
  if (!/^[\w-]+$/.test(name)) throw new Error(`not a header name: ${JSON.stringify(name)}`)
  return name
}

// HAProxy sends a query at once.
const QUESTION_MS = 10_000
// More than the longest head of a request.
const QUESTION_BYTES = 128 * 1024
