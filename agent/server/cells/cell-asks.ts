import {
  AGENT_RUN_HEADER,
  REFUSAL_HEADER,
  SIGNATURE_HEADER,
  type Signer,
  signedHeaders,
} from '../../../shared/auth/channel.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { type HttpRequest, headerOf } from '../../../shared/http/messages.ts'
import type { Logger } from '../../../shared/log.ts'
import type { LineBudget } from '../../../shared/log-budget.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import { discard, ENTRY_HEADER, noteAway, passedHeaders } from '../passing.ts'
import { type CellLinks, cellAway, type PassedAnswer } from './cell-links.ts'
import type { CellPatience } from './cell-patience.ts'

export interface CellAsksDeps {
  directory: Pick<Directory, 'cell' | 'findCell'>
  links: Pick<CellLinks, 'send'>
  /** For a cell that has just started, signs what the functions have signed for its previous run. */
  sign: Signer
  patience: CellPatience
  /** Bounds the lines of each cell in the log. */
  lines: LineBudget
  logger: Logger
}

/** A request of the functions, to proxy to other cells. */
export interface AskedRequest extends Pick<HttpRequest, 'method' | 'target' | 'headers'> {
  body: Uint8Array
  /** The owner it is sent for. */
  owner: string
}

export interface AskOptions {
  signal: AbortSignal
  /** True: no timeout. Default: a timeout for the head and for each piece, and `STEPS_MAX` times that for the whole answer. */
  isPatient?: boolean
  /** True: this cell has verified the whole request, and that it is not a replay. */
  isVerified?: boolean
}

/** Sends requests to other cells and returns their answers. */
export interface CellAsks {
  /**
   * Proxies a request to a cell, unchanged, and returns its answer.
   * @throws ServiceError `agent_unavailable` that names the cell, also while the body is read. `rate_limited` of its owner
   */
  ask(cell: string, request: AskedRequest, options: AskOptions): Promise<CellReply>
}

/** An answer of another cell. Its body fails if it stalls. */
export interface CellReply extends Omit<PassedAnswer, 'body'> {
  body: AsyncIterable<Uint8Array>
}

/** Creates the client of other cells. Each cell verifies the signature of the functions and burns its nonce for itself. */
export function createCellAsks({ directory, links, sign, patience, lines, logger }: CellAsksDeps): CellAsks {
  const send = async (
    url: string,
    request: AskedRequest,
    { signal, isVerified = false }: AskOptions,
  ): Promise<PassedAnswer> => {
    const { method, target, body, owner } = request
    const headers = { ...passedHeaders(request.headers, ['content-length']), [ENTRY_HEADER]: directory.cell }
    const first = await links.send(url, { method, target, headers, signal, owner }, body)
    const run = headerOf(first.headers, AGENT_RUN_HEADER)
    if (headerOf(first.headers, REFUSAL_HEADER) !== 'restarted' || run === undefined) return first
    // Never sign a change that this cell has not verified, because it may be forged or replayed. The functions sign it again.
    if (method !== 'GET' && !isVerified) return first
    // The functions do not know the new run of that cell yet. Signing for it here saves them a round trip.
    discard(first)
    const own = { ...signedHeaders(request.headers), [AGENT_RUN_HEADER]: run }
    const signature = sign({ method, target, headers: own }, body)
    return links.send(
      url,
      { method, target, headers: { ...headers, ...own, [SIGNATURE_HEADER]: signature }, signal, owner },
      body,
    )
  }
  return {
    ask: async (cell, request, options) => {
      const { signal, isPatient = false } = options
      const url = directory.findCell(cell)?.channelUrl
      if (url === undefined) throw cellAway(cell)
      const silence = createSilence(isPatient ? null : patience.of(cell), signal, patience)
      const fail = (error: unknown): ServiceError => {
        if (error instanceof ServiceError) return error
        if (!signal.aborted) patience.noteSilence(cell, silence.since())
        if (!signal.aborted) noteAway({ cell, request, error }, { logger, lines })
        return cellAway(cell, error, { isChange: request.method !== 'GET' })
      }
      try {
        const answer = await silence.bound(() => send(url, request, { ...options, signal: silence.signal }))
        patience.noteHeard(cell)
        return { ...answer, body: readPatiently(answer, { silence, fail }) }
      } catch (error) {
        throw fail(error)
      }
    },
  }
}

async function* readPatiently(
  { body }: PassedAnswer,
  { silence, fail }: { silence: Silence; fail(error: unknown): ServiceError },
): AsyncGenerator<Uint8Array> {
  const pieces = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await silence.bound(() => pieces.next())
      if (next.done === true) return
      yield next.value
    }
  } catch (error) {
    throw fail(error)
  } finally {
    body.on('error', () => undefined).destroy()
  }
}

interface Silence {
  /** When the last step began. */
  since(): number
  /** Aborts at a timeout, or with the signal given. */
  signal: AbortSignal
  /** Runs a step with the timeout. */
  bound<T>(step: () => Promise<T>): Promise<T>
}

function createSilence(ms: number | null, outer: AbortSignal, { now }: Pick<CellPatience, 'now'>): Silence {
  let begun = now()
  let leftMs = (ms ?? 0) * STEPS_MAX
  const since = (): number => begun
  if (ms === null) return { since, signal: outer, bound: (step) => step() }
  const late = new AbortController()
  return {
    since,
    signal: AbortSignal.any([outer, late.signal]),
    bound: async (step) => {
      begun = now()
      const timer = setTimeout(() => late.abort(new Error('its answer comes too slowly')), Math.min(ms, leftMs))
      try {
        return await step()
      } finally {
        clearTimeout(timer)
        leftMs = Math.max(0, leftMs - (now() - begun))
      }
    },
  }
}

/** Timeout of a whole answer, in timeouts of its steps. */
const STEPS_MAX = 6
