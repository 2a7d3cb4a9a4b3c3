import { bodyMac } from '../shared/auth/body-mac.ts'
import { SIGNATURE_HEADER } from '../shared/auth/channel.ts'
import { SEAL_BYTES, sealBody } from '../shared/auth/sealed-body.ts'
import { ServiceError } from '../shared/errors.ts'
import { type HttpRequest, type HttpResponse, headerOf } from '../shared/http/messages.ts'
import { operations } from '../shared/routes.ts'
import { failureError, responseOf } from './agent-answer.ts'
import type { Forward, ForwardBytes, ForwardedRequest } from './forward.ts'
import type { PoolTransport } from './pool-transport.ts'
import type { Signing } from './signing.ts'
import { type AgentAnswer, TransportFailure } from './transport.ts'

export interface ForwardBytesOptions {
  transport: PoolTransport
  signing: Signing
  /** Forwards bodies that turn out to be short. */
  forward: Forward
  /** Time-out for the agent to read a piece, and to answer after the last. */
  timeoutMs: number
  /** Time in milliseconds in which a body may turn out to be short. Default: FIRST_MS. */
  firstMs?: number
}

/**
 * Streams bodies of any length, and holds only a few pieces. Forwards a short body like any other. Streams a longer one, sealed at its end
 * and never sent twice. If the client leaves or stops sending, the agent never gets the seal.
 */
export function createForwardBytes(options: ForwardBytesOptions): ForwardBytes {
  return async (head) => {
    const pieces = head.request.openBody()[Symbol.asyncIterator]()
    const first = await takeFirst(pieces, options.firstMs ?? FIRST_MS)
    if (first.isAll) return options.forward({ ...head, body: Buffer.concat(first.pieces) })
    try {
      // A streamed body cannot be signed again. A cheap request therefore first detects new keys or a restart of the agent.
      await options.forward(versionRequest(head))
      return await send({ ...head, first: first.pieces, rest: resumed(pieces, first.pending) }, options)
    } finally {
      // Not awaited, because it resolves only once the client has sent more or left, or once the rest is discarded after the answer.
      pieces.return?.().catch(() => {})
    }
  }
}

/** Reads a short body, or the first pieces of a longer one. Streams whatever has not arrived within `withinMs`. */
async function takeFirst(
  source: AsyncIterator<Uint8Array>,
  withinMs: number,
): Promise<{ pieces: Uint8Array[]; isAll: boolean; pending: Promise<IteratorResult<Uint8Array>> | null }> {
  const pieces: Uint8Array[] = []
  let size = 0
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), withinMs)
  })
  try {
    for (;;) {
      const pending = source.next()
      const next = await Promise.race([pending, late])
      if (next === null) return { pieces, isAll: false, pending }
      if (next.done === true) return { pieces, isAll: true, pending: null }
      pieces.push(next.value)
      size += next.value.length
      if (size > SHORT_BYTES || pieces.length === SHORT_PIECES) return { pieces, isAll: false, pending: null }
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Returns an iterator that yields the `pending` piece of `source` before the rest. */
function resumed(
  source: AsyncIterator<Uint8Array>,
  pending: Promise<IteratorResult<Uint8Array>> | null,
): AsyncIterator<Uint8Array> {
  let first = pending
  first?.catch(() => undefined)
  return {
    next: () => {
      const next = first ?? source.next()
      first = null
      return next
    },
  }
}

/** Builds a request for the version, without the client's headers, because it needs no token. */
function versionRequest({ request, requestId, owner }: Omit<ForwardedRequest, 'body'>): ForwardedRequest {
  const operation = operations.getVersion
  const anonymous: HttpRequest = { ...request, target: operation.path, headers: {} }
  return { request: anonymous, operation, requestId, owner, body: new Uint8Array(0) }
}

type Begun = Omit<ForwardedRequest, 'body'> & { first: readonly Uint8Array[]; rest: AsyncIterator<Uint8Array> }

async function send(begun: Begun, options: ForwardBytesOptions): Promise<HttpResponse> {
  const { transport, signing, timeoutMs } = options
  const { request, operation, requestId, owner, first, rest } = begun
  const signed = signing.sign({ request, operation, requestId, body: null })
  const { method, target, keys } = signed
  const [key] = keys.keys
  if (!key) throw new Error('the channel has no key to seal with')
  const length = headerOf(request.headers, 'content-length')
  const headers = {
    ...signed.headers,
    ...(length === undefined ? {} : { 'content-length': String(Number(length) + SEAL_BYTES) }),
  }
  const watch = watchAgent(timeoutMs)
  const source = watch.watched(first, rest)
  const body = sealBody(source, bodyMac(key, signed.headers[SIGNATURE_HEADER] ?? ''))
  const signal = AbortSignal.any([request.signal, watch.signal])
  let answer: AgentAnswer
  try {
    answer = await transport.upload({ method, target, headers, body, signal, timeoutMs, owner })
  } catch (error) {
    if (watch.clientFault() !== undefined) throw watch.clientFault()
    throw error instanceof TransportFailure ? failureError(error) : error
  } finally {
    watch.end()
  }
  if (signing.mayRetry(signed, answer, requestId)) throw agentRestarted()
  return responseOf(answer, { operation, requestId })
}

interface AgentWatch {
  /** Aborts with a TransportFailure after `timeoutMs` without progress of the agent. */
  signal: AbortSignal
  /** Yields the pieces. Runs the timer only while the agent should be reading one. */
  watched(first: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array>
  /** Error that the client's side threw, or undefined. */
  clientFault(): unknown
  end(): void
}

/** Times out only the agent, for reading a piece or answering after the last one. The client's own host times out an idle client. */
function watchAgent(timeoutMs: number): AgentWatch {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  let fault: unknown
  const stop = (): void => clearTimeout(timer)
  const start = (): void => {
    stop()
    if (isOver) return
    const cause = new Error(`the agent neither took nor answered anything within ${timeoutMs} ms`)
    timer = setTimeout(() => controller.abort(new TransportFailure('timeout', { wasSent: true, cause })), timeoutMs)
  }
  return {
    signal: controller.signal,
    watched: async function* (first, rest) {
      for (const piece of first) {
        start()
        yield piece
      }
      for (;;) {
        stop()
        const next = await rest.next().catch((error: unknown) => {
          fault = error
          throw error
        })
        start()
        if (next.done === true) return
        yield next.value
      }
    },
    clientFault: () => fault,
    end: () => {
      isOver = true
      stop()
    },
  }
}

/** Returns the error for an agent that restarted right before the body was sent, and has not read it. */
function agentRestarted(): ServiceError {
  return new ServiceError(
    'agent_unavailable',
    'The agent restarted during the request and changed nothing. Repeat the request.',
  )
}

/** Time for a short body. No honest client on a slow link needs more for 256 KiB. */
const FIRST_MS = 26_000
/** Bodies up to this many bytes are held in memory, so that they can be signed whole. */
const SHORT_BYTES = 256 * 1024
/** Maximum number of pieces held. Each costs more than the few bytes that a hostile client may put into it. */
const SHORT_PIECES = 1024
