import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import { digestOf } from '../../../agent/core/common/digest.ts'
import { portConnectionOf } from '../../../agent/drivers/boxes/box-ports.ts'
import { type CaddyEdgeOptions, createCaddyEdge } from '../../../agent/drivers/edge/caddy.ts'
import { createHaproxyEdge, type HaproxyEdgeOptions } from '../../../agent/drivers/edge/haproxy.ts'
import { endEdge } from '../../../agent/drivers/edge/process.ts'
import { edgeAnswerOf } from '../../../agent/handlers/edge/answers.ts'
import { connectTcp, openTcpSocket } from '../../../agent/lib/syscalls/tcp.ts'
import type {
  Edge,
  EdgeDecision,
  EdgeGate,
  EdgeGrant,
  EdgeReach,
  EdgeRequest,
  EdgeRoute,
} from '../../../agent/ports/edge/edge.ts'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { ServiceError } from '../../../shared/errors.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { silentLogger } from '../silent-logger.ts'

/** A request that a server of the lab received. */
export interface UpstreamRequest {
  method: string
  target: string
  /** Alternating names and values. */
  rawHeaders: string[]
  headers: IncomingMessage['headers']
}

/** A server that plays the role of a server in a box. */
export interface Upstream {
  address: string
  port: number
  seen: UpstreamRequest[]
  server: Server
  close(): Promise<void>
}

/** An edge, the servers behind it, and a gate with scripted decisions. */
export interface EdgeLab {
  runDir: string
  edge: Edge
  /** Requests that reached the gate. */
  asked: EdgeRequest[]
  decide(decision: (request: EdgeRequest) => EdgeDecision | Promise<EdgeDecision>): void
  /** Names that can get certificates. Empty at first. */
  certified: Set<string>
  /** Names for which the edge asked whether it can get certificates. */
  wanted: string[]
  /** Starts a server that echoes WebSockets. By default, it answers a request with its description. */
  startUpstream(listener?: RequestListener): Promise<Upstream>
  route(host: string, upstream: Pick<Upstream, 'address' | 'port'>, rest?: Partial<EdgeRoute>): EdgeRoute
  /** Ports on the loopback of boxes, by `<address>:<port>` of the routes to them. Empty at first. */
  loopback: Map<string, number>
  /** Opens the edge. Later calls open another driver over the same run directory. */
  open(state?: { routes?: EdgeRoute[]; grants?: EdgeGrant[] }): Promise<Edge>
  /** Closes the driver and leaves the edge running. */
  leave(): Promise<void>
  /** Sends these bytes. Resolves with the answer once the edge closes or `until` matches. */
  say(text: string, until?: RegExp): Promise<string>
  /** Sends one request with `connection: close`. */
  ask(head: readonly string[], body?: string): Promise<LabAnswer>
  close(): Promise<void>
}

export interface LabAnswer {
  status: number
  headers: string
  body: string
}

/** Options that an edge has only behind Caddy. */
export type LabAcme = Omit<CaddyEdgeOptions, keyof HaproxyEdgeOptions>

/** Creates a lab with an edge that is not open yet, behind Caddy if `acme` is given. Close it even after a failure. */
export function createEdgeLab(changed: Partial<HaproxyEdgeOptions> = {}, acme: LabAcme | null = null): EdgeLab {
  const runDir = mkdtempSync(join(tmpdir(), 'boxyard-edge-'))
  // The same mode as the agent's run directory.
  chmodSync(runDir, 0o711)
  const certified = new Set<string>()
  const wanted: string[] = []
  const upstreams: Upstream[] = []
  const asked: EdgeRequest[] = []
  let decision: (request: EdgeRequest) => EdgeDecision | Promise<EdgeDecision> = refuseUnknown
  const create = (): Edge => {
    const options = { ...defaultsOf(runDir), ...changed }
    return acme === null ? createHaproxyEdge(options) : createCaddyEdge({ ...options, ...acme })
  }
  let isTaken = false
  const lab: EdgeLab = {
    runDir,
    edge: create(),
    asked,
    certified,
    wanted,
    loopback: new Map(),
    decide: (given) => {
      decision = given
    },
    startUpstream: async (listener) => {
      const upstream = await startUpstream(listener)
      upstreams.push(upstream)
      return upstream
    },
    route: (host, { address, port }, rest = {}) => ({
      host,
      project: 'demo',
      boxId: 'box_1',
      auth: 'public',
      address,
      port,
      ...rest,
    }),
    open: async ({ routes = [], grants = [] } = {}) => {
      // Reuses the driver created with the lab, because a driver that is never closed keeps the process alive.
      if (isTaken) lab.edge = create()
      isTaken = true
      const gate = gateOf(lab, (request) => decision(request))
      await lab.edge.open({ routes, grants, gate }).then(() => lab.edge.started())
      return lab.edge
    },
    leave: () => lab.edge.close({ release: false }),
    say: (text, until) => converse(lab.edge.port, text, until),
    ask: async (head, body = '') =>
      parseAnswer(await converse(lab.edge.port, [...head, 'connection: close', '', body].join('\r\n'))),
    close: async () => {
      try {
        await lab.edge.close({ release: true })
      } finally {
        await endEdge(runDir)
        for (const upstream of upstreams) await upstream.close()
        rmSync(runDir, { recursive: true, force: true })
      }
    },
  }
  return lab
}

/** Returns a grant that expires after an hour by default. */
export function grantOf(credential: string, scope: string, lifeMs = 3_600_000): EdgeGrant {
  return { credential: digestOf(credential), scope, expiresAt: Date.now() + lifeMs }
}

function defaultsOf(runDir: string): HaproxyEdgeOptions {
  const pages: HttpHandler = async (request) => ({
    status: 200,
    headers: { 'content-type': 'application/json', 'set-cookie': ['a=1', '__Host-boxyard=s; Secure'] },
    body: JSON.stringify({ page: request.target, headers: request.headers, client: request.clientAddress }),
  })
  return {
    runDir,
    host: '127.0.0.1',
    port: 0,
    frontProxy: null,
    cells: null,
    signInHost: 'sign-in.localhost',
    scheme: 'http',
    certificates: null,
    tokenPrefixes: [TOKEN_PREFIX],
    trustedProxies: [],
    limits: { connections: 8_000, connectionsPerSecond: 1_000, questionsPerSecond: 1_000 },
    pages,
    logger: silentLogger,
    clock: { now: () => Date.now(), sleep: (ms, signal) => pause(ms, undefined, { signal }).catch(() => undefined) },
  }
}

function gateOf(lab: EdgeLab, decide: (request: EdgeRequest) => EdgeDecision | Promise<EdgeDecision>): EdgeGate {
  return {
    decide: async (request) => {
      lab.asked.push(request)
      return decide(request)
    },
    certifies: async (host) => {
      lab.wanted.push(host)
      return lab.certified.has(host)
    },
    reach: (target) => reachOf(lab, target),
    refuse: async (error, request) => ({
      kind: 'answer' as const,
      ...edgeAnswerOf(error, { ...request, requestId: 'req_00000000000000000000000000' }),
    }),
  }
}

/** Connects as the agent does, but to the loopback of this host. */
async function reachOf(
  { loopback }: EdgeLab,
  { address, port }: { address: string; port: number },
): Promise<EdgeReach> {
  return {
    owner: { project: 'demo', boxId: 'box_1' },
    release: () => undefined,
    connect: async () => {
      const own = loopback.get(`${address}:${port}`)
      if (own === undefined) throw new ServiceError('port_not_listening', `Nothing listens at port ${port} of the box.`)
      const fd = openTcpSocket('127.0.0.1')
      if (!connectTcp(fd, '127.0.0.1', own)) connectTcp(fd, '127.0.0.1', own)
      return portConnectionOf(fd)
    },
  }
}

function refuseUnknown(request: EdgeRequest): EdgeDecision {
  return { kind: 'answer', status: 404, headers: { 'x-from': 'gate' }, body: `unknown: ${request.host}` }
}

async function startUpstream(listener?: RequestListener): Promise<Upstream> {
  const seen: UpstreamRequest[] = []
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '', rawHeaders, headers } = incoming
    seen.push({ method, target: url, rawHeaders, headers })
    if (listener) listener(incoming, outgoing)
    else describeRequest(incoming, outgoing)
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, { method = '', url = '', rawHeaders, headers }) => {
    seen.push({ method, target: url, rawHeaders, headers })
    socket.on('message', (data) => socket.send(data))
    socket.on('error', () => undefined)
  })
  const address = `127.0.${1 + (nextAddress >> 8)}.${1 + (nextAddress++ & 127)}`
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  const { port } = server.address() as AddressInfo
  return {
    address,
    port,
    seen,
    server,
    close: () =>
      new Promise((resolve) => {
        for (const client of sockets.clients) client.terminate()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function describeRequest(incoming: IncomingMessage, outgoing: ServerResponse): void {
  let size = 0
  incoming.on('data', (piece: Buffer) => (size += piece.length))
  incoming.on('end', () => {
    outgoing.setHeader('content-type', 'application/json')
    outgoing.end(JSON.stringify({ at: (incoming.socket.address() as AddressInfo).port, target: incoming.url, size }))
  })
}

function converse(port: number, text: string, until?: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
    socket.setTimeout(35_000, () => socket.destroy(new Error(`the edge is silent after ${JSON.stringify(received)}`)))
    socket.on('data', (piece) => {
      received += piece.toString('latin1')
      if (until?.test(received)) socket.destroy()
    })
    socket.once('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? undefined : reject(error)))
    socket.once('close', () => resolve(received))
  })
}

function parseAnswer(text: string): LabAnswer {
  const end = text.indexOf('\r\n\r\n')
  const head = end < 0 ? text : text.slice(0, end)
  return { status: Number(text.split(' ')[1]), headers: head.toLowerCase(), body: end < 0 ? '' : text.slice(end + 4) }
}

let nextAddress = 1
