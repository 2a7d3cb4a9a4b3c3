import { setTimeout as delay } from 'node:timers/promises'
import { createVerifier, refusalError } from '../../shared/auth/channel.ts'
import { asServiceError, ServiceError } from '../../shared/errors.ts'
import {
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  problemResponse,
} from '../../shared/http/messages.ts'
import { newId } from '../../shared/ids.ts'
import { createLimiter } from '../../shared/locks.ts'
import type { Logger } from '../../shared/log.ts'
import { type LineBudget, logBounded } from '../../shared/log-budget.ts'
import { createEventNotices, type EventNotices } from '../core/events/notices.ts'
import type { CellHistory } from '../ports/store/cell-history.ts'
import type { EventScope, EventStore, InTurn } from '../ports/store/events.ts'
import { peerIdOf } from './peer-keys.ts'
import { PEER_PATHS, PEER_REQUESTS, type PeerPath, TAIL_QUIET_MS } from './peer-messages.ts'

export interface PeerServerDeps {
  /** The history of this cell. */
  history: CellHistory
  events: Pick<EventStore, 'onCommit'>
  keys: Parameters<typeof createVerifier>[0]['keys']
  logger: Logger
  lines: LineBudget
  /** Milliseconds since the epoch. */
  now(): number
}

/** Serves all events and the whole audit log of this cell to the agents of other cells. They show callers only what those may see. */
export interface PeerServer {
  /** Wraps the handler of the channel, which gets all other requests. */
  wrap(others: HttpHandler): HttpHandler
  /** Ends all tails. */
  close(): void
}

/** Creates the server. It accepts requests for this cell that are signed by a key which only agents have. */
export function createPeerServer(deps: PeerServerDeps): PeerServer {
  const { history, events, keys, now } = deps
  const verify = createVerifier({ keys, agentId: peerIdOf(history.cell), now, startedAt: now() })
  const serving: Serving = {
    ...deps,
    notices: createEventNotices([events]),
    tails: new Map(),
    closing: new AbortController(),
    audits: createAuditTurns(),
  }
  return {
    wrap: (others) => async (request) => {
      const answer = ANSWERS.get(request.target)
      if (request.method !== 'POST' || answer === undefined) return others(request)
      try {
        const verdict = verify(request)
        if (!verdict.isAccepted) throw refused(verdict, deps)
        const body = await request.readBody(BODY_BYTES)
        if (!verdict.matchesBody(body)) throw new ServiceError('agent_protocol', 'The body is not the one signed.')
        return await answer(JSON.parse(Buffer.from(body).toString('utf8')), { ...serving, request })
      } catch (error) {
        const known = asServiceError(error)
        if (known.code === 'internal') deps.logger.error('failed to answer another cell', { error })
        return problemResponse(known, newId('req', now()))
      }
    },
    close: () => serving.closing.abort(),
  }
}

interface Serving extends PeerServerDeps {
  notices: EventNotices
  /** The tail of each cell that has one. A new one ends the one before. */
  tails: Map<string, AbortController>
  closing: AbortController
  audits: AuditTurns
}

type Answer = (body: unknown, serving: Serving & { request: HttpRequest }) => Promise<HttpResponse>

const ANSWERS: ReadonlyMap<string, Answer> = new Map<PeerPath, Answer>([
  [
    PEER_PATHS.bounds,
    async (body, { history }) => jsonResponse(200, await history.bounds(PEER_REQUESTS.bounds.parse(body)), {}),
  ],
  [
    PEER_PATHS.events,
    async (body, { history, request }) => {
      const query = PEER_REQUESTS.events.parse(body)
      const { newest } = await history.bounds({ scope: query.scope, since: null })
      // This cell was restored from a backup. Its next events have numbers that the reader takes for others.
      if (query.after > newest) throw new ServiceError('cursor_expired', 'This cell has no event of that number.')
      return jsonResponse(200, await history.readEvents({ ...query, inTurn: atOnce, signal: request.signal }), {})
    },
  ],
  [
    PEER_PATHS.audit,
    async (body, { history, audits }) => {
      const query = PEER_REQUESTS.audit.parse(body)
      return jsonResponse(200, await audits(query.account, () => history.readAudit(query)), {})
    },
  ],
  [
    PEER_PATHS.tail,
    async (body, { history, request, ...serving }) => {
      const { door, after } = PEER_REQUESTS.tail.parse(body)
      const end = new AbortController()
      serving.tails.get(door)?.abort()
      serving.tails.set(door, end)
      const signal = AbortSignal.any([end.signal, serving.closing.signal, request.signal])
      const onEnd = (): void => {
        if (serving.tails.get(door) === end) serving.tails.delete(door)
      }
      signal.addEventListener('abort', onEnd, { once: true })
      const { oldest, newest } = await history.bounds({ scope: EVERYTHING, since: null })
      const isNear = after !== null && after <= newest && after >= Math.max(oldest - 1, newest - TAIL_BEHIND_MAX)
      const pieces = tailOf({ ...serving, history }, { door, after: isNear ? after : newest, signal })
      return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body: pieces }
    },
  ],
])

async function* tailOf(
  { history, notices }: Pick<Serving, 'history' | 'notices'>,
  { door, signal, ...begin }: { door: string; after: number; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  let { after } = begin
  const scan = { scope: EVERYTHING, types: [], account: `cell ${door}`, limit: TAIL_EVENTS, inTurn: atOnce, signal }
  const beginning = (): Buffer => Buffer.from(`${JSON.stringify({ after })}\n`)
  yield beginning()
  while (!signal.aborted) {
    const page = await notices.during(EVERYTHING, async (noticed) => {
      const found = await unlessExpired(history.readEvents({ ...scan, after }))
      if (found?.events.length === 0 && !signal.aborted) await firstOf(noticed, signal)
      return found
    })
    if (page === null) {
      // Each reader must notice events that were pruned unread.
      ;({ newest: after } = await history.bounds({ scope: EVERYTHING, since: null }))
      yield beginning()
      continue
    }
    after = page.through
    yield Buffer.from(page.events.length === 0 ? '\n' : page.events.map((each) => `${JSON.stringify(each)}\n`).join(''))
  }
}

/** Runs a read of the audit log in the turn of an account. */
type AuditTurns = <T>(account: string, read: () => Promise<T>) => Promise<T>

/**
 * Creates the turns of reads for other cells, which may each scan the whole log. Runs one at a time, with accounts in rotation, and
 * pauses after each for as long as it took.
 */
function createAuditTurns(): AuditTurns {
  const turns = createLimiter(1)
  return (account, read) =>
    new Promise((resolve, reject) => {
      void turns.run(async () => {
        const begunAt = performance.now()
        await read().then(resolve, reject)
        await delay(performance.now() - begunAt)
      }, account)
    })
}

async function unlessExpired<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'cursor_expired') return null
    throw error
  }
}

/** Resolves with the first notification, the end, or the time after which a tail sends an empty line. */
async function firstOf(noticed: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, TAIL_QUIET_MS)
  const onAbort = (): void => resolve()
  signal.addEventListener('abort', onAbort, { once: true })
  await Promise.race([noticed, promise])
  clearTimeout(timer)
  signal.removeEventListener('abort', onAbort)
}

function refused(
  refusal: Parameters<typeof refusalError>[0],
  { logger, lines }: Pick<PeerServerDeps, 'logger' | 'lines'>,
): ServiceError {
  const { reason, keyId, skewMs } = refusal
  // An agent learns the run from this refusal, and signs again.
  if (reason !== 'restarted')
    logBounded('cells', lines, (leftOut) =>
      logger.warn('rejected a request from another cell', { reason, key_id: keyId, skew_ms: skewMs, ...leftOut }),
    )
  return refusalError(refusal)
}

const atOnce: InTurn = (work) => work((part) => part())
const EVERYTHING: EventScope = { projects: '*', shared: true, admin: true }
const BODY_BYTES = 1024 * 1024
/** Events of a tail in one piece. */
const TAIL_EVENTS = 200
/** A tail that was this far behind when it broke begins with the newest event. Requests then read the events in between. */
const TAIL_BEHIND_MAX = 1_000
