import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ServiceError } from '../../shared/errors.ts'
import { createFairShares, type FairShares } from '../../shared/fair-shares.ts'
import { inLoopTurns } from '../../shared/flow-turns.ts'
import { checkHandshake, noWebSocket } from '../../shared/http/handshake.ts'
import { parseQuery } from '../../shared/http/messages.ts'
import { PORT_MESSAGE_BYTES } from '../../shared/http/port-frames.ts'
import { endWithResponse } from '../../shared/http/raw-response.ts'
import { requestHead } from '../../shared/http/serve.ts'
import type { SourceAddresses } from '../../shared/http/source-address.ts'
import { logBounded } from '../../shared/log-budget.ts'
import { refusal } from '../../shared/refusals.ts'
import type { FlowOwner } from '../../shared/rotation.ts'
import { validateRequest } from '../../shared/validate.ts'
import type { StreamHandlers } from '../handlers/common/call.ts'
import { accountIn, commandIn, LateLine, refusalOf } from './audit.ts'
import type { StreamBridge } from './bridge.ts'
import type { Entry } from './entry.ts'
import { createHeartbeat, type Heartbeat, type HeartbeatTimes } from './heartbeat.ts'
import { createMessagePaces, MESSAGE_RATE, type MessagePaces, type MessageRate } from './message-pace.ts'
import { admit, bytesOwnerOf, drainingError, ownersOf, type ReceptionDeps, receive } from './reception.ts'
import { newFacts, type RequestFacts } from './request-facts.ts'
import { type Acceptor, createAcceptor, type Upgrade } from './socket-acceptor.ts'
import { type OpenedStream, type StreamKind, streamKindOf } from './stream-kinds.ts'

export interface StreamServerDeps extends Omit<ReceptionDeps, 'trust' | 'match'> {
  handlers: StreamHandlers
  /** Most WebSockets of commands and consoles at once, of all addresses together. */
  streamsAtOnce: number
  /** Most WebSockets to ports of boxes at once. */
  portConnectionsAtOnce: number
  heartbeatTimes?: HeartbeatTimes
  /** Default: MESSAGE_RATE. */
  messageRate?: MessageRate
}

/** The WebSockets of the agent. */
export interface StreamServer {
  /** Handles the upgrades of a server that was created with SERVER_OPTIONS. */
  serve(server: Server, options: ServedUpgrades): void
  /** Counts open WebSockets and pending upgrades, of commands and consoles or to ports. */
  open(pool: Pool): number
  /**
   * Closes with 1012 those whose commands outlive their clients, and waits for the others until `signal` aborts. Then closes the rest and
   * resolves within 1.5 s.
   */
  drain(signal: AbortSignal): Promise<void>
}

/** How upgrades of one server are served. */
export interface ServedUpgrades extends Pick<ReceptionDeps, 'trust' | 'match'> {
  sources: SourceAddresses
  /** Handles upgrades for other cells. Null: there are none. */
  entry: Pick<Entry, 'passUpgrade'> | null
}

/** Joins clients to commands, consoles and ports. Each passes `trust → match → token → validate → handler → audit → 101`. */
export function createStreamServer(deps: StreamServerDeps): StreamServer {
  const shares = {
    streams: createFairShares(deps.streamsAtOnce),
    ports: createFairShares(deps.portConnectionsAtOnce),
  }
  const state: State = { bridges: new Set(), shares, phase: 'open', onIdle: () => undefined }
  const accept = {
    streams: createAcceptor({ maxPayload: MESSAGE_BYTES }),
    ports: createAcceptor({ maxPayload: PORT_MESSAGE_BYTES, maxBufferedChunks: PIECES }),
  }
  const heartbeat = createHeartbeat(deps.heartbeatTimes ?? HEARTBEAT)
  const paces = createMessagePaces(deps.messageRate ?? MESSAGE_RATE)
  return {
    serve: (server, options) => {
      const context = { ...deps, ...options, state, accept, heartbeat, paces }
      server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
        socket.on('error', () => undefined)
        void upgrade({ incoming, socket, head }, context)
      })
    },
    open: (pool) => shares[pool].held(),
    drain: (signal) => drain(state, signal),
  }
}

/** The pool that counts a WebSocket. */
type Pool = StreamKind['pool']

interface State {
  bridges: Set<StreamBridge>
  /** The shares of open WebSockets and pending upgrades, by box, project and token. */
  shares: Record<Pool, FairShares>
  phase: 'open' | 'draining' | 'closing'
  onIdle(): void
}

type Context = ReceptionDeps &
  StreamServerDeps & {
    facts: RequestFacts
    state: State
    accept: Record<Pool, Acceptor>
    heartbeat: Heartbeat
    paces: MessagePaces
  } & Omit<ServedUpgrades, 'trust' | 'match'>

async function upgrade(given: Upgrade, deps: Omit<Context, 'facts'>): Promise<void> {
  const request = requestHead(given.incoming, deps.sources)
  if ((await deps.entry?.passUpgrade({ ...given, socket: given.incoming.socket }, request)) === true) return
  const facts = newFacts(request, deps.clock.now())
  const context = { ...deps, facts }
  const end = deps.requests.begin(facts)
  const line = new LateLine(facts, deps)
  let opened: Opened
  try {
    opened = await openStream(given, context, line)
  } catch (error) {
    facts.open?.close()
    const refusal = refusalOf(error, facts, deps)
    end(refusal.status)
    endWithResponse(given.socket, refusal)
    return
  }
  const { stream, pool, owner, release } = opened
  if (!stream.startsLater) line.opened()
  end(101)
  const { protocol, headers } = stream
  const socket = deps.accept[pool](given, { protocol, headers: { ...headers, 'X-Request-Id': facts.requestId } })
  if (socket === null) stream.abandon()
  else {
    const openFlow = inLoopTurns(owner)
    const intake = deps.paces.watch(socket, accountIn(facts), openFlow)
    const client = { socket, wire: given.incoming.socket, intake, openOutput: openFlow }
    await serveBridge(stream.join(client), stream, context)
  }
  line.opened()
  facts.open?.close()
  release()
}

interface Opened {
  stream: OpenedStream
  pool: Pool
  owner: FlowOwner
  /** Releases its share. */
  release(): void
}

async function openStream({ incoming }: Upgrade, context: Context, line: LateLine): Promise<Opened> {
  const { handlers, state } = context
  const received = receive(requestHead(incoming, context.sources), context)
  const { operation, params: given, search, trusted } = received
  if (operation.transport !== 'websocket') throw noWebSocket()
  checkHandshake(incoming.headers)
  const { pool, choose } = streamKindOf(operation, handlers)
  const open = choose(trusted.headers['sec-websocket-protocol'])
  const { caller, boxId: boundBoxId, execId, enter } = await admit(received, context)
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => context.turns.run(accountIn(context.facts), work)
  return inTurn(async () => {
    const { params, query } = validateRequest(operation, { params: given, query: parseQuery(search), body: undefined })
    context.facts.command = commandIn(operation, { query })
    const owner = bytesOwnerOf(received, caller)
    const release = reserveStream(state, pool, ownersOf(received, caller))
    try {
      const stream = await open(
        { params, query, caller, boundBoxId, execId },
        {
          enter,
          enterLater: (work) =>
            inTurn(() => {
              if (state.phase !== 'open') throw drainingError()
              return enter(work)
            }),
          runs: (command) => {
            context.facts.command = command
          },
          started: () => line.opened(),
          explain: (error) => line.refused(error),
          now: () => context.clock.now(),
        },
      )
      return { stream, pool, owner, release }
    } catch (error) {
      release()
      throw error
    }
  })
}

function reserveStream(state: State, pool: Pool, owners: readonly string[]): () => void {
  // Draining may have begun after the request was admitted.
  if (state.phase !== 'open') throw drainingError()
  const release = state.shares[pool].take(owners)
  if (release === null) throw tooMany(pool)
  return () => {
    release()
    if (isIdle(state)) state.onIdle()
  }
}

function isIdle({ shares }: State): boolean {
  return shares.streams.held() + shares.ports.held() === 0
}

async function serveBridge(bridge: StreamBridge, stream: OpenedStream, context: Context): Promise<void> {
  const { state, facts, logger, lines, clock, heartbeat } = context
  state.bridges.add(bridge)
  heartbeat.watch(bridge.socket, bridge.wire)
  closeIfDraining(bridge, state)
  closeWithToken(bridge, facts)
  const { bytesIn, bytesOut, closeCode } = await bridge.closed
  state.bridges.delete(bridge)
  logBounded(`streams of ${accountIn(facts)}`, lines, (leftOut) =>
    logger.info('stream ended', {
      ...{ request_id: facts.requestId, operation: facts.operation?.id ?? null, stream: stream.id },
      ...{ bytes_in: bytesIn, bytes_out: bytesOut, close_code: closeCode },
      ...{ duration_ms: clock.now() - facts.startedAt, ...leftOut },
    }),
  )
}

/** Closes a stream when its token ends, or has ended since it was admitted. */
function closeWithToken(bridge: StreamBridge, { open }: RequestFacts): void {
  if (open === null) return
  const close = (): void => {
    const { code, message } = open.signal.reason as ServiceError
    bridge.close(POLICY_VIOLATION, `${code}: ${message}`)
  }
  if (open.signal.aborted) close()
  else open.signal.addEventListener('abort', close, { once: true })
}

async function drain(state: State, signal: AbortSignal): Promise<void> {
  const giveUp = new AbortController()
  const closeAll = (phase: State['phase']): void => {
    state.phase = phase
    for (const bridge of state.bridges) closeIfDraining(bridge, state)
  }
  closeAll('draining')
  await idleOrAborted(state, signal)
  closeAll('closing')
  const timers = [
    setTimeout(() => {
      for (const { socket } of state.bridges) socket.terminate()
    }, TERMINATE_MS),
    setTimeout(() => giveUp.abort(), GIVE_UP_MS),
  ]
  await idleOrAborted(state, giveUp.signal)
  for (const timer of timers) clearTimeout(timer)
}

/** Closes a stream if draining demands it. The last phase closes all, earlier ones only those whose commands outlive the client. */
function closeIfDraining(bridge: StreamBridge, { phase }: State): void {
  if (phase === 'closing' || (phase === 'draining' && bridge.outlivesClient)) bridge.close(...STOPPING)
}

async function idleOrAborted(state: State, signal: AbortSignal): Promise<void> {
  if (isIdle(state) || signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  state.onIdle = resolve
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
}

function tooMany(pool: Pool): ServiceError {
  const [what, limit] =
    pool === 'ports' ? ['connections to ports of boxes', 'port_connections_at_once'] : ['WebSockets', 'streams_at_once']
  return refusal(
    'rate_limited',
    [
      `Too many ${what} are open. Projects and tokens share \`${limit}\` of \`GET /v1/config\`.`,
      'Close some, or try again in 5 s.',
    ],
    { headers: { 'Retry-After': '5' } },
  )
}

const HEARTBEAT: HeartbeatTimes = { pingMs: 15_000, silenceMs: 45_000 }
const MESSAGE_BYTES = 1024 ** 2
/** Most pieces in which a message to a port may come. Each takes memory beside its bytes. */
const PIECES = 1024
const STOPPING = [1012, 'The agent is shutting down. Boxes keep running.'] as const
/** RFC 6455, 7.4.1. */
const POLICY_VIOLATION = 1008
const TERMINATE_MS = 1_000
// An upgrade still pending then is closed when it completes.
const GIVE_UP_MS = 1_500
