import type { IncomingMessage } from 'node:http'
import { createGatheredPieces } from './gathered-pieces.ts'

/**
 * Yields the pieces of `incoming` as they arrive, and joins short ones that wait. Buffers up to 512 KiB for a slow reader. Leaves
 * `incoming` open if the reader stops early, because the answer uses the same connection. Throws if it breaks off, if the rest is
 * discarded, or if nothing arrives for `silenceMs` during a wait.
 */
export async function* incomingPieces(incoming: IncomingMessage, silenceMs: number): AsyncGenerator<Uint8Array> {
  const waiting = createGatheredPieces()
  let size = 0
  let wake = (): void => undefined
  const take = (piece: Buffer): void => {
    waiting.push(piece)
    size += piece.length
    if (size >= WAITING_BYTES) incoming.pause()
    wake()
  }
  const change = (): void => wake()
  let isLate = false
  incoming.on('data', take)
  for (const event of ENDS) incoming.on(event, change)
  try {
    for (;;) {
      if (discarded.has(incoming)) throw new Error('the rest of the body was discarded')
      const piece = waiting.shift()
      if (piece !== undefined) {
        size -= piece.length
        if (size < WAITING_BYTES && incoming.isPaused()) incoming.resume()
        yield piece
      } else if (incoming.readableEnded) break
      else if (incoming.destroyed) throw incoming.errored ?? new Error('the client left')
      else if (isLate) incoming.destroy(new Error('nothing came for too long'))
      else {
        isLate = await new Promise<boolean>((resolve) => {
          const silence = setTimeout(() => resolve(true), silenceMs)
          wake = () => {
            clearTimeout(silence)
            resolve(false)
          }
        })
      }
    }
  } finally {
    incoming.off('data', take)
    for (const event of ENDS) incoming.off(event, change)
    // A reader may stop only after the answer. An incoming message that is then being discarded must keep flowing, or the connection is cut
    // off.
    if (!discarded.has(incoming)) incoming.pause()
  }
}

/** Reads and discards the rest of `incoming`. A reader that still waits for it fails, and releases everything that it holds. */
export function discardRest(incoming: IncomingMessage): void {
  discarded.add(incoming)
  incoming.on('data', () => {})
  incoming.emit(DISCARDED)
  incoming.resume()
}

const discarded = new WeakSet<IncomingMessage>()

const WAITING_BYTES = 512 * 1024
const DISCARDED = Symbol('discarded')
const ENDS = ['end', 'error', 'close', DISCARDED] as const
