import {
  AGENT_RUN_HEADER,
  REFUSAL_HEADER,
  SIGNATURE_HEADER,
  type Signer,
  signedHeaders,
} from '../../shared/auth/channel.ts'
import type { ServiceError } from '../../shared/errors.ts'
import { givenRequestId, type HttpRequest, headerOf } from '../../shared/http/messages.ts'
import type { Logger } from '../../shared/log.ts'
import type { Directory } from '../ports/fleet/directory.ts'
import { type CellLinks, cellAway, type PassedAnswer } from './cell-links.ts'
import type { CellPatience } from './cell-patience.ts'
import { discard, ENTRY_HEADER, passedHeaders } from './passing.ts'

export interface CellAsksDeps {
  directory: Pick<Directory, 'cell' | 'findCell'>
  links: Pick<CellLinks, 'send'>
  /** Signs for a cell that has just started what the functions have signed for another run. */
  sign: Signer
  patience: CellPatience
  logger: Logger
}

/** A request of the functions, as it is passed on to other cells. */
export interface AskedRequest extends Pick<HttpRequest, 'method' | 'target' | 'headers'> {
  body: Uint8Array
}

/** Asks other cells for their part of an answer. */
export interface CellAsks {
  /**
   * Passes a request on to a cell, as it came, and returns its answer. `isPatient`: it may wait as long as it likes, else it has as
   * long as the patience says to begin its answer, and as long for each piece of it.
   * @throws ServiceError `agent_unavailable` that names the cell, also while the body is read
   */
  ask(cell: string, request: AskedRequest, options: { signal: AbortSignal; isPatient?: boolean }): Promise<CellReply>
}

/** An answer of another cell. Its body fails if it does not go on. */
export interface CellReply extends Omit<PassedAnswer, 'body'> {
  body: AsyncIterable<Uint8Array>
}

/** Creates what asks other cells. Each verifies the signature of the functions and burns its nonce for itself. */
export function createCellAsks({ directory, links, sign, patience, logger }: CellAsksDeps): CellAsks {
  const send = async (url: string, request: AskedRequest, signal: AbortSignal): Promise<PassedAnswer> => {
    const { method, target, body } = request
    const headers = { ...passedHeaders(request.headers, ['content-length']), [ENTRY_HEADER]: directory.cell }
    const first = await links.send(url, { method, target, headers, signal }, body)
    const run = headerOf(first.headers, AGENT_RUN_HEADER)
    if (headerOf(first.headers, REFUSAL_HEADER) !== 'restarted' || run === undefined) return first
    // The functions have not heard of its run yet. Signed for that here, they need no round for each cell that has just started.
    discard(first)
    const own = { ...signedHeaders(request.headers), [AGENT_RUN_HEADER]: run }
    const signature = sign({ method, target, headers: own }, body)
    return links.send(
      url,
      { method, target, headers: { ...headers, ...own, [SIGNATURE_HEADER]: signature }, signal },
      body,
    )
  }
  return {
    ask: async (cell, request, { signal, isPatient = false }) => {
      const fail = (error: unknown): ServiceError => {
        const id = givenRequestId(request.headers)
        if (!signal.aborted) patience.note(cell, false)
        if (!signal.aborted) logger.warn('Another cell cannot be reached', { cell, request_id: id, error })
        return cellAway(cell, error)
      }
      const url = directory.findCell(cell)?.channelUrl
      if (url === undefined) throw cellAway(cell)
      const silence = createSilence(isPatient ? null : patience.of(cell), signal)
      try {
        const answer = await silence.bound(() => send(url, request, silence.signal))
        patience.note(cell, true)
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
  /** Aborts once something takes too long, or by the signal given. */
  signal: AbortSignal
  /** Runs a step that may take so long and no longer. */
  bound<T>(step: () => Promise<T>): Promise<T>
}

function createSilence(ms: number | null, outer: AbortSignal): Silence {
  if (ms === null) return { signal: outer, bound: (step) => step() }
  const late = new AbortController()
  return {
    signal: AbortSignal.any([outer, late.signal]),
    bound: async (step) => {
      const timer = setTimeout(() => late.abort(new Error(`no answer within ${ms} ms`)), ms)
      try {
        return await step()
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
