import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'
import { refusal } from '../refusals.ts'
import { createGatheredPieces } from './gathered-pieces.ts'
import { discardRest, incomingPieces } from './incoming-pieces.ts'
import { notePassing } from './passing-bytes.ts'

/** Time limits for a client's body, in milliseconds. */
export interface BodyTimeouts {
  /** Time from the first byte to the last, for the longest body that is read whole, or for one discarded after its answer. */
  wholeMs: number
  /** Between two pieces of a streamed or discarded body, while the server waits for them. */
  silenceMs: number
  /** Time for an empty body. Each 16 bytes extend it by a millisecond. Default: 10 s. */
  startMs?: number
}

/** A body of a node:http request. Before `read` or `open` nothing is read, and the client gets no 100 Continue. */
export interface RequestBody {
  /** As `HttpRequest.readBody`. */
  read(maxBytes: number): Promise<Uint8Array>
  /** As `HttpRequest.openBody`. */
  open(): AsyncIterable<Uint8Array>
}

/** Creates the body of a request. `sendContinue` sends 100 Continue to a client that waits for it. */
export function requestBody(
  incoming: IncomingMessage,
  { timeouts, sendContinue }: { timeouts: BodyTimeouts; sendContinue(): void },
): RequestBody {
  const { headers } = incoming
  const declared = headers['content-length']
  const isNone = declared === undefined && headers['transfer-encoding'] === undefined
  return {
    read: (maxBytes) => {
      if (isNone) return Promise.resolve(EMPTY)
      if (Number(declared ?? 0) > maxBytes) return Promise.reject(bodyTooLarge(maxBytes))
      sendContinue()
      const longest = Math.min(Number(declared ?? maxBytes), maxBytes)
      const withinMs = Math.min(timeouts.wholeMs, (timeouts.startMs ?? START_MS) + longest / SLOWEST_BYTES)
      return collect(incoming, { maxBytes, withinMs })
    },
    open: async function* () {
      if (isNone) return
      sendContinue()
      yield* pieces(incoming, timeouts.silenceMs)
    },
  }
}

/** The rest of a body that the client is still sending when it gets the answer. */
export interface BodyRest {
  /**
   * Call it before the answer. It delays the close of the connection until the client had time to read it. Closing a socket with unread
   * data resets the connection, and loses the answer.
   */
  lingerOnClose(): void
  /** Call it after the answer. It reads and discards the rest, within the time limits of a body. */
  discard(): void
}

/** Handles the rest of the body of a request. Closes the connection if that exceeds the time limits. */
export function restOfBody(incoming: IncomingMessage, timeouts: BodyTimeouts): BodyRest {
  const { socket } = incoming
  const isOver = (): boolean => incoming.complete || incoming.destroyed
  let isLast = false
  let stopWaiting: (() => void) | null = null
  const wait = (): void => {
    stopWaiting ??= destroyInTime(incoming, timeouts)
  }
  const stop = (): void => {
    stopWaiting?.()
    stopWaiting = null
  }
  return {
    lingerOnClose: () => {
      if (isOver()) return
      // node:http calls this after the last answer of a connection.
      socket.destroySoon = () => {
        isLast = true
        socket.end()
        wait()
        socket.once('close', stop)
      }
    },
    discard: () => {
      if (isOver()) return
      discardRest(incoming)
      wait()
      // A client that has sent everything may still hold open a connection that must close.
      incoming.once('close', () => {
        if (!isLast) stop()
      })
    },
  }
}

/** Destroys the connection once the rest of a body exceeds the time limits. Returns a function that cancels this. */
function destroyInTime(incoming: IncomingMessage, { wholeMs, silenceMs }: BodyTimeouts): () => void {
  const destroy = (): void => void incoming.socket.destroy()
  const [whole, silence] = [setTimeout(destroy, wholeMs).unref(), setTimeout(destroy, silenceMs).unref()]
  incoming.on('data', () => silence.refresh())
  return () => {
    clearTimeout(whole)
    clearTimeout(silence)
  }
}

async function* pieces(incoming: IncomingMessage, silenceMs: number): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of incomingPieces(incoming, silenceMs)) {
      notePassing(piece.length)
      yield piece
    }
    if (!incoming.complete) throw brokenBody()
  } catch (error) {
    throw error instanceof ServiceError || !incoming.destroyed ? error : brokenBody(error)
  }
}

function collect(
  incoming: IncomingMessage,
  { maxBytes, withinMs }: { maxBytes: number; withinMs: number },
): Promise<Uint8Array> {
  if (incoming.destroyed && !incoming.complete) return Promise.reject(brokenBody())
  return new Promise((resolve, reject) => {
    const gathered = createGatheredPieces()
    let size = 0
    const late = setTimeout(() => incoming.destroy(new Error('the body took too long')), withinMs)
    incoming.once('close', () => clearTimeout(late))
    incoming.once('end', () => clearTimeout(late))
    const take = (chunk: Buffer): void => {
      size += chunk.length
      if (size > maxBytes) {
        gathered.takeAll()
        clearTimeout(late)
        incoming.off('data', take)
        incoming.resume()
        reject(bodyTooLarge(maxBytes))
      } else gathered.push(chunk)
    }
    const broken = (cause?: unknown): void => reject(brokenBody(cause))
    incoming.on('data', take)
    incoming.once('end', () => {
      const pieces = gathered.takeAll()
      resolve(pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces))
    })
    incoming.once('error', broken)
    incoming.once('close', () => (incoming.complete ? undefined : broken()))
  })
}

function brokenBody(cause?: unknown): ServiceError {
  return new ServiceError('invalid_request', 'The connection closed before the end of the body.', { cause })
}

function bodyTooLarge(maxBytes: number): ServiceError {
  return refusal('body_too_large', [`The body may be at most ${maxBytes} bytes.`, 'Send less.'])
}

/** Bytes that the slowest honest client sends in a millisecond. A client that sends little gets less time. */
const SLOWEST_BYTES = 16
const START_MS = 10_000

/** Time that an honest client on a slow link needs for the longest body that is read whole. */
export const BODY_TIMEOUTS: BodyTimeouts = { wholeMs: 120_000, silenceMs: 60_000 }

const EMPTY = new Uint8Array(0)
