import type { ServerResponse } from 'node:http'
import { notePassing } from './passing-bytes.ts'

/**
 * Sends pieces as a body, of which one is asked for while the one before is on its way, and ends the answer. Throws what the
 * source throws, or that the client has left; the source is closed then, at once.
 */
export async function sendPieces(outgoing: ServerResponse, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const source = pieces[Symbol.asyncIterator]()
  let isDone = false
  let leave = (_error: Error): void => undefined
  const left = (): void => leave(new Error('the client left'))
  outgoing.on('close', left)
  // A wait that ends when the client leaves, whatever it is for.
  const wait = <T>(begin: (resolve: (value: T | PromiseLike<T>) => void) => void): Promise<T> =>
    new Promise((resolve, reject) => {
      leave = reject
      if (outgoing.destroyed) left()
      else begin(resolve)
    })
  try {
    for (;;) {
      const next = await wait<IteratorResult<Uint8Array>>((resolve) => resolve(source.next()))
      isDone = next.done === true
      if (next.done === true) break
      notePassing(next.value.length)
      if (!outgoing.write(next.value)) await wait<void>((resolve) => outgoing.once('drain', resolve))
    }
    await wait<void>((resolve) => outgoing.end(resolve))
  } finally {
    outgoing.off('close', left)
    if (!isDone) source.return?.()?.catch(() => undefined)
  }
}
