import type { ServerResponse } from 'node:http'
import { notePassing } from './passing-bytes.ts'

/**
 * Sends pieces as a body, reading one while the last is on its way, and ends the answer. Throws the error of the source, or that
 * the client has left; then closes the source at once.
 */
export async function sendPieces(outgoing: ServerResponse, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const source = pieces[Symbol.asyncIterator]()
  let isDone = false
  let leave = (_error: Error): void => undefined
  const left = (): void => leave(new Error('the client left'))
  outgoing.on('close', left)
  // Waits for `begin`; rejects as soon as the client leaves.
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
