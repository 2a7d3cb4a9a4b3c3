import type { IncomingMessage } from 'node:http'

/**
 * Yields the pieces of `incoming` as they come, unjoined; buffers up to 512 KiB for a slow reader. Leaves `incoming` open if the
 * reader stops early, since the answer goes over the same connection. Throws if it breaks off, or if nothing comes for `silenceMs`
 * during a wait.
 */
export async function* incomingPieces(incoming: IncomingMessage, silenceMs: number): AsyncGenerator<Buffer> {
  const waiting: Buffer[] = []
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
    // A reader may stop only after the answer: an incoming that is being discarded then must go on flowing, or the connection is
    // cut off.
    if (!discarded.has(incoming)) incoming.pause()
  }
}

/** Reads and discards the rest of `incoming`, even while a reader is still attached. */
export function discardRest(incoming: IncomingMessage): void {
  discarded.add(incoming)
  // A reader that has not stopped yet would pause it; this listener makes it flow once the reader has.
  incoming.on('data', () => {})
  incoming.resume()
}

const discarded = new WeakSet<IncomingMessage>()

const WAITING_BYTES = 512 * 1024
const ENDS = ['end', 'error', 'close'] as const
