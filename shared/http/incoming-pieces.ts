import type { IncomingMessage } from 'node:http'

/**
 * What `incoming` brings, as it comes: nothing is put together, and up to 512 KiB wait for whoever reads. It is left open where
 * that has enough, since the answer goes over the same connection. Throws if it breaks off, or if nothing comes for
 * `silenceMs` while it is waited for.
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
    // A reader may let go only after the answer: what is forgotten by then must go on flowing, or the connection is cut off.
    if (!forgotten.has(incoming)) incoming.pause()
  }
}

/** Reads and forgets what `incoming` still brings, whoever reads from it. */
export function forgetRest(incoming: IncomingMessage): void {
  forgotten.add(incoming)
  // A reader that has not let go yet would keep it from flowing; a listener makes it flow once that has.
  incoming.on('data', () => {})
  incoming.resume()
}

const forgotten = new WeakSet<IncomingMessage>()

const WAITING_BYTES = 512 * 1024
const ENDS = ['end', 'error', 'close'] as const
