import { bodyMac, SIGNATURE_HEADER } from '../shared/auth/channel.ts'
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
  /** For bodies that turn out to be short. */
  forward: Forward
  /** How long the agent may neither take a piece nor answer after the last. */
  timeoutMs: number
}

/**
 * Carries bodies of any length, without holding more than a few pieces. A short one goes the way of all others; a longer one is
 * sent as it comes, sealed at its end and never sent twice. If its client leaves, or falls silent, the agent is left with it
 * unsealed.
 */
export function createForwardBytes(options: ForwardBytesOptions): ForwardBytes {
  return async (head) => {
    const pieces = head.request.openBody()[Symbol.asyncIterator]()
    const first = await takeFirst(pieces)
    if (first.isAll) return options.forward({ ...head, body: Buffer.concat(first.pieces) })
    try {
      // What is begun cannot be signed again: so a cheap request learns of new keys and of a restart before.
      await options.forward(versionRequest(head))
      return await send({ ...head, first: first.pieces, rest: pieces }, options)
    } finally {
      // Not waited for: it is done only once the client has sent something more, or left.
      pieces.return?.().catch(() => {})
    }
  }
}

async function takeFirst(source: AsyncIterator<Uint8Array>): Promise<{ pieces: Uint8Array[]; isAll: boolean }> {
  const pieces: Uint8Array[] = []
  let size = 0
  for (;;) {
    const next = await source.next()
    if (next.done === true) return { pieces, isAll: true }
    pieces.push(next.value)
    size += next.value.length
    if (size > SHORT_BYTES || pieces.length === SHORT_PIECES) return { pieces, isAll: false }
  }
}

/** Asks for what needs no token, in nobody's name. */
function versionRequest({ request, requestId }: Omit<ForwardedRequest, 'body'>): ForwardedRequest {
  const operation = operations.getVersion
  const asked: HttpRequest = { ...request, target: operation.path, headers: {} }
  return { request: asked, operation, requestId, body: new Uint8Array(0) }
}

type Begun = Omit<ForwardedRequest, 'body'> & { first: readonly Uint8Array[]; rest: AsyncIterator<Uint8Array> }

async function send(begun: Begun, options: ForwardBytesOptions): Promise<HttpResponse> {
  const { transport, signing, timeoutMs } = options
  const { request, operation, requestId, first, rest } = begun
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
    answer = await transport.upload({ method, target, headers, body, signal, timeoutMs })
  } catch (error) {
    if (watch.clientFault() !== undefined) throw watch.clientFault()
    throw error instanceof TransportFailure ? failureError(error) : error
  } finally {
    watch.end()
  }
  if (signing.mayPassNow(signed, answer, requestId)) throw missed()
  return responseOf(answer, { operation, requestId })
}

interface AgentWatch {
  /** Aborted with a TransportFailure when the agent has been waited for too long. */
  signal: AbortSignal
  /** The pieces, during which it is told who is waited for. */
  watched(first: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array>
  /** What the client's side threw. */
  clientFault(): unknown
  end(): void
}

/** Waits for the agent alone, to take a piece or to answer after the last: a client that is silent is its own host's matter. */
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

/** The agent has started again in the moment before the body was sent, and has not looked at it. */
function missed(): ServiceError {
  return new ServiceError('agent_unavailable', 'The agent has started again meanwhile; nothing was done.')
}

/** Bodies up to this many bytes are held, so that they can be signed whole. */
const SHORT_BYTES = 256 * 1024
/** And in at most so many pieces: each costs more than the few bytes that a hostile client may put into it. */
const SHORT_PIECES = 1024
