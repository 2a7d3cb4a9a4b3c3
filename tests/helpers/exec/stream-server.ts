import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTickets, type Tickets } from '../../../agent/core/access/tickets.ts'
import type { StreamHandlers } from '../../../agent/handlers/common/call.ts'
import { createActorContext } from '../../../agent/lib/actor-context.ts'
import type { Clock } from '../../../agent/ports/host/clock.ts'
import type { Actor } from '../../../agent/ports/store/events.ts'
import type { Entry } from '../../../agent/server/entry.ts'
import type { HeartbeatTimes } from '../../../agent/server/heartbeat.ts'
import type { MessageRate } from '../../../agent/server/message-pace.ts'
import { createRequestMeter } from '../../../agent/server/metrics.ts'
import { OpenRequests } from '../../../agent/server/open-requests.ts'
import { createProcessorTurns } from '../../../agent/server/processor-turns.ts'
import { createStreamServer, type StreamServer } from '../../../agent/server/streams.ts'
import { type Trust, trustSender } from '../../../agent/server/trust.ts'
import type { TokenVerifier } from '../../../shared/auth/tokens.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { problemResponse } from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, serve } from '../../../shared/http/serve.ts'
import { createSourceAddresses } from '../../../shared/http/source-address.ts'
import type { Logger } from '../../../shared/log.ts'
import { matchOperation } from '../../../shared/match.ts'
import { silentLogger } from '../silent-logger.ts'
import { silentMeter } from '../silent-meter.ts'
import { makeScriptedStream, type ScriptedStream } from './scripted-stream.ts'

export interface StreamServerOptions {
  verifyToken: TokenVerifier
  trust?: Trust
  logger?: Logger
  streamsAtOnce?: number
  portConnectionsAtOnce?: number
  heartbeatTimes?: HeartbeatTimes
  messageRate?: MessageRate
  isRevoked?(tokenId: string): boolean
  /** Handles upgrades for other cells. */
  entry?: Entry
}

/** The WebSocket server of an agent without the rest. It connects each WebSocket to a scripted command. */
export interface TestStreamServer {
  url: string
  server: StreamServer
  tickets: Tickets
  /** Handler calls, in order. */
  calls: Parameters<StreamHandlers['streamExec']>[0][]
  /** Actor of each call. */
  actors: (Actor | null)[]
  /** Started commands, in order. */
  started: ScriptedStream[]
  /** Answers a handler call. The default returns a new scripted stream. */
  respond(): Promise<ScriptedStream>
  /** Resolves with the next command that no earlier call has claimed. */
  next(): Promise<ScriptedStream>
  /** Ends requests opened with revoked tokens. */
  endRevoked(): Promise<void>
  isDraining: boolean
  /** Answers a call for a port. The default refuses it, since nothing listens there. */
  openPort: StreamHandlers['openPort']
  /** Returns the server's sockets of all open connections. */
  wires(): Socket[]
  close(): Promise<void>
}

/** Starts a server on a free loopback port. */
export async function startStreamServer(options: StreamServerOptions): Promise<TestStreamServer> {
  const clock: Clock = { now: () => Date.now(), sleep: (ms) => sleep(ms) }
  const actorContext = createActorContext<Actor>()
  const waiting: ((stream: ScriptedStream) => void)[] = []
  const unclaimed: ScriptedStream[] = []
  const handle = async (call: unknown): Promise<ScriptedStream['stream']> => {
    test.calls.push(call as TestStreamServer['calls'][number])
    test.actors.push(actorContext.current())
    const made = await test.respond()
    test.started.push(made)
    const claim = waiting.shift()
    if (claim) claim(made)
    else unclaimed.push(made)
    return made.stream
  }
  const tickets = createTickets({ clock })
  const checkAlive = async (id: string): Promise<void> => {
    if (options.isRevoked?.(id)) throw new ServiceError('token_revoked', 'The token was revoked.')
  }
  const openRequests = new OpenRequests({ clock, checkAlive })
  const logger = options.logger ?? silentLogger
  const server = createStreamServer({
    verifyToken: options.verifyToken,
    checkAlive,
    openRequests,
    tickets,
    rateLimit: () => undefined,
    turns: createProcessorTurns(),
    isDraining: () => test.isDraining,
    actorContext,
    requests: createRequestMeter(silentMeter, clock),
    clock,
    audit: { add: () => undefined },
    logger,
    handlers: { streamExec: handle, openConsole: handle, openPort: (call) => test.openPort(call) },
    streamsAtOnce: options.streamsAtOnce ?? 1024,
    portConnectionsAtOnce: options.portConnectionsAtOnce ?? 1024,
    ...(options.heartbeatTimes ? { heartbeatTimes: options.heartbeatTimes } : {}),
    ...(options.messageRate ? { messageRate: options.messageRate } : {}),
  })
  const http = createServer(SERVER_OPTIONS)
  const plain = async () => problemResponse(new ServiceError('route_not_found', 'Not here.'), 'req_plain')
  const serving = serve(http, { handler: plain, logger, now: Date.now })
  const { trust = trustSender, entry = null } = options
  server.serve(http, { trust, match: matchOperation, sources: createSourceAddresses([]), entry })
  const wires = new Set<Socket>()
  http.on('connection', (wire: Socket) => {
    wires.add(wire)
    wire.once('close', () => wires.delete(wire))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const test: TestStreamServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    ...{ server, tickets, calls: [], actors: [], started: [], isDraining: false },
    wires: () => [...wires],
    endRevoked: () => openRequests.endRevoked(),
    openPort: () => Promise.reject(new ServiceError('port_not_listening', 'Nothing listens at this port.')),
    respond: () => Promise.resolve(makeScriptedStream()),
    next: () => {
      const made = unclaimed.shift()
      return made ? Promise.resolve(made) : new Promise((resolve) => waiting.push(resolve))
    },
    close: async () => {
      await server.drain(AbortSignal.abort())
      await serving.drain(AbortSignal.abort())
    },
  }
  return test
}
