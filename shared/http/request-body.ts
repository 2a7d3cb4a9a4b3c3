import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'
import { forgetRest, incomingPieces } from './incoming-pieces.ts'
import { notePassing } from './passing-bytes.ts'

/** How long a client may take over a body, in milliseconds. */
export interface BodyPatience {
  /** From the first byte of a body that is read whole, or forgotten after its answer, to its last. */
  wholeMs: number
  /** Between two pieces of a body that comes in pieces or is forgotten, while it is waited for. */
  silenceMs: number
}

/** A body of a node:http request, of which nothing is read, nor asked of the client, before `read` or `open`. */
export interface RequestBody {
  /** As `HttpRequest.readBody`. */
  read(maxBytes: number): Promise<Uint8Array>
  /** As `HttpRequest.openBody`. */
  open(): AsyncIterable<Uint8Array>
}

/** The body of a request; `askForIt` sends 100 Continue to a client that waits for it. */
export function requestBody(
  incoming: IncomingMessage,
  { patience, askForIt }: { patience: BodyPatience; askForIt(): void },
): RequestBody {
  const { headers } = incoming
  const declared = headers['content-length']
  const isNone = declared === undefined && headers['transfer-encoding'] === undefined
  return {
    read: (maxBytes) => {
      if (isNone) return Promise.resolve(EMPTY)
      if (Number(declared ?? 0) > maxBytes) return Promise.reject(bodyTooLarge(maxBytes))
      askForIt()
      return collect(incoming, { maxBytes, withinMs: patience.wholeMs })
    },
    open: async function* () {
      if (isNone) return
      askForIt()
      yield* pieces(incoming, patience.silenceMs)
    },
  }
}

/** What a client is still sending when it is answered. */
export interface BodyRest {
  /**
   * To be called before the answer: closes the connection only once the client had time to read it. A socket that is closed
   * with unread data resets the connection, and the answer with it.
   */
  lingerOnClose(): void
  /** To be called after the answer: reads and forgets the rest, as long as a body that is read. */
  discard(): void
}

/** The rest of the body of a request; where it takes too long, or stays away, the connection is closed. */
export function restOfBody(incoming: IncomingMessage, patience: BodyPatience): BodyRest {
  const { socket } = incoming
  const isOver = (): boolean => incoming.complete || incoming.destroyed
  let isLast = false
  let stopWaiting: (() => void) | null = null
  const wait = (): void => {
    stopWaiting ??= destroyInTime(incoming, patience)
  }
  const stop = (): void => {
    stopWaiting?.()
    stopWaiting = null
  }
  return {
    lingerOnClose: () => {
      if (isOver()) return
      // What node:http calls after an answer that is the last of its connection.
      socket.destroySoon = () => {
        isLast = true
        socket.end()
        wait()
        socket.once('close', stop)
      }
    },
    discard: () => {
      if (isOver()) return
      forgetRest(incoming)
      wait()
      // A client that has sent all may still keep a connection that is to be closed.
      incoming.once('close', () => {
        if (!isLast) stop()
      })
    },
  }
}

/** Closes the connection where the rest of a body takes too long, or stays away; returns what keeps it from that. */
function destroyInTime(incoming: IncomingMessage, { wholeMs, silenceMs }: BodyPatience): () => void {
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
    const chunks: Buffer[] = []
    let size = 0
    const late = setTimeout(() => incoming.destroy(new Error('the body took too long')), withinMs)
    incoming.once('close', () => clearTimeout(late))
    incoming.once('end', () => clearTimeout(late))
    const take = (chunk: Buffer): void => {
      size += chunk.length
      if (size > maxBytes) {
        chunks.length = 0
        clearTimeout(late)
        incoming.off('data', take)
        incoming.resume()
        reject(bodyTooLarge(maxBytes))
      } else chunks.push(chunk)
    }
    const broken = (cause?: unknown): void => reject(brokenBody(cause))
    incoming.on('data', take)
    incoming.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    incoming.once('error', broken)
    incoming.once('close', () => (incoming.complete ? undefined : broken()))
  })
}

function brokenBody(cause?: unknown): ServiceError {
  return new ServiceError('invalid_request', 'The body broke off before its end.', { cause })
}

function bodyTooLarge(maxBytes: number): ServiceError {
  return new ServiceError('body_too_large', `The body may be at most ${maxBytes} bytes.`)
}

/** As long as an honest client of a thin line needs for the longest body that is read whole. */
export const BODY_PATIENCE: BodyPatience = { wholeMs: 120_000, silenceMs: 60_000 }

const EMPTY = new Uint8Array(0)
