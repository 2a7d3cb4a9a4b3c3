import { type ChannelKey, createVerifier, type Refusal, refusalError } from '../../shared/auth/channel.ts'
import { sealBody } from '../../shared/auth/sealed-body.ts'
import { ServiceError } from '../../shared/errors.ts'
import { type HttpHandler, type HttpRequest, type HttpResponse, problemResponse } from '../../shared/http/messages.ts'
import { newId } from '../../shared/ids.ts'
import { createLimiter, type Limiter } from '../../shared/locks.ts'
import type { Logger } from '../../shared/log.ts'
import { createLineBudget, logBounded } from '../../shared/log-budget.ts'
import { piecesByTurns } from '../../shared/pulled-flow.ts'
import type { CowFilesystem } from '../ports/pool/cow-filesystem.ts'
import type { BaseStore } from '../ports/store/bases.ts'

export interface BaseSenderDeps {
  /** Number of this cell. */
  cell: string
  bases: Pick<BaseStore, 'all'>
  filesystem: Pick<CowFilesystem, 'send'>
  /** Keys that only agents have (`createPeerKeys`). The functions hold the channel's keys, and must not read a base. */
  keys(): readonly ChannelKey[]
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
  /** Time in ms in which a cell must read something. Default: a minute. */
  stalledMs?: number
}

/**
 * Wraps the handler of the channel. Agents of other cells can then read the bases made at this cell. It sends each as the pool does, with
 * a seal at its end. Agents sign with a key that only agents have, and only for this cell and this purpose.
 */
export function createBaseSender(deps: BaseSenderDeps): (others: HttpHandler) => HttpHandler {
  const { cell, keys, now } = deps
  const verify = createVerifier({ keys, agentId: baseReceiverOf(cell), now, startedAt: now() })
  const sending = { ...deps, verify, limiter: createLimiter(SENDS_AT_ONCE), lines: createLineBudget({ now }) }
  return (others) => async (request) => {
    if (!request.target.startsWith(BASE_PATH)) return others(request)
    try {
      return await answer(request, sending)
    } catch (error) {
      return problemResponse(error, newId('req', now()))
    }
  }
}

interface Sending extends BaseSenderDeps {
  verify: ReturnType<typeof createVerifier>
  limiter: Limiter
  lines: ReturnType<typeof createLineBudget>
}

async function answer(request: HttpRequest, sending: Sending): Promise<HttpResponse> {
  const { verify, bases, filesystem, limiter, stalledMs = STALLED_MS } = sending
  const verdict = verify(request)
  if (!verdict.isAccepted) throw refused(verdict, sending)
  // A signature for a sealed body gives the seal of the answer a key of its own.
  if (request.method !== 'GET' || verdict.bodyMac === null)
    throw new ServiceError('agent_protocol', 'A base is asked for by GET, with a signature for a sealed answer.')
  const id = request.target.slice(BASE_PATH.length)
  const record = (await bases.all()).find((each) => each.id === id && each.cell === undefined)
  if (record === undefined) throw new ServiceError('base_not_found', `This cell has made no base ${id}.`)
  const { signal } = request
  const send = (until: AbortSignal) => filesystem.send({ name: record.subvolume, parent: null, signal: until })
  const pieces = piecesByTurns(inTurn(send, { limiter, signal, stalledMs }), FLEET_BASES)
  return { status: 200, headers: { 'content-type': BYTES }, body: sealBody(pieces, verdict.bodyMac()) }
}

/** Waits for a turn, then yields the pieces of `open`. Ends if the receiver stalls, as when its link is cut. */
async function* inTurn(
  open: (until: AbortSignal) => AsyncIterable<Uint8Array>,
  { limiter, signal, stalledMs }: { limiter: Limiter; signal: AbortSignal; stalledMs: number },
): AsyncGenerator<Uint8Array> {
  const [turn, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const stalled = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const stall = (): void => {
    stalled.abort(new Error('nothing of it is taken'))
    end.resolve()
  }
  const over = limiter.run(() => {
    turn.resolve()
    return end.promise
  })
  await turn.promise
  try {
    signal.throwIfAborted()
    for await (const piece of open(AbortSignal.any([signal, stalled.signal]))) {
      timer = setTimeout(stall, stalledMs).unref()
      yield piece
      clearTimeout(timer)
      stalled.signal.throwIfAborted()
    }
  } finally {
    clearTimeout(timer)
    end.resolve()
    await over
  }
}

function refused(refusal: Refusal, { logger, lines }: Pick<Sending, 'logger' | 'lines'>): ServiceError {
  const { reason, keyId, skewMs } = refusal
  // An agent learns the run from this refusal, and signs again.
  if (reason !== 'restarted')
    logBounded('bases', lines, (leftOut) =>
      logger.warn('rejected a request for a base', { reason, key_id: keyId, skew_ms: skewMs, ...leftOut }),
    )
  return refusalError(refusal)
}

/** Returns the receiver that a signature of a request for a base names. No other cell accepts it, nor for any other purpose. */
export function baseReceiverOf(cell: string): string {
  return `bases of cell ${cell}`
}

/** Prefix of the path by which agents of a fleet request a base. Its id follows. No operation of the API has such a path. */
export const BASE_PATH = '/cells/bases/'
/** Owner of the bytes of copies of bases, at both ends. */
export const FLEET_BASES = { project: 'bases of the fleet', box: '' }
const BYTES = 'application/octet-stream'
/** Each takes some CPU. */
const SENDS_AT_ONCE = 2
/** Less than the time after which a cell that receives nothing gives up. */
const STALLED_MS = 60_000
