import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { type OpenFlow, openFree } from '../flow-turns.ts'
import { pulled } from '../pulled-flow.ts'
import { createValve } from '../valve.ts'
import { LENT_BUFFERS } from './lent-buffers.ts'
import { notePassing } from './passing-bytes.ts'

/**
 * Sends pieces as a body in the turns of `openFlow`, and ends the answer. Reads one piece while the last is on its way. Throws the error of
 * the source, or that the client has left, and then closes the source at once.
 */
export async function sendPieces(
  outgoing: ServerResponse,
  pieces: AsyncIterable<Uint8Array>,
  openFlow: OpenFlow = openFree,
): Promise<void> {
  const source = pieces[Symbol.asyncIterator]()
  const flow = pulled(openFlow)
  let isDone = false
  let leave = (_error: Error): void => undefined
  const left = (): void => leave(new Error('the client left'))
  outgoing.on('close', left)
  // Waits for `begin`. Rejects as soon as the client leaves.
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
      const turn = flow.take(next.value.length)
      if (turn !== null) await wait<void>((resolve) => resolve(turn))
      notePassing(next.value.length)
      const piece = next.value
      if (!outgoing.write(piece, (error) => error ?? LENT_BUFFERS.giveBack(piece)))
        await wait<void>((resolve) => outgoing.once('drain', resolve))
    }
    await wait<void>((resolve) => outgoing.end(resolve))
  } finally {
    outgoing.off('close', left)
    flow.close()
    if (!isDone) source.return?.()?.catch(() => undefined)
  }
}

/**
 * Does the same as `sendPieces` for a stream that nothing else reads, without a promise for each piece. The stream may have ended already.
 */
export async function sendStream(
  outgoing: ServerResponse,
  body: Readable,
  openFlow: OpenFlow = openFree,
): Promise<void> {
  const valve = createValve(body)
  const flow = openFlow(valve)
  const { promise: sent, resolve, reject } = Promise.withResolvers<void>()
  const left = (): void => reject(new Error('the client left'))
  const drained = (): void => valve.release('reader')
  outgoing.on('close', left).on('drain', drained)
  body.on('error', reject)
  body.once('close', () => {
    if (!body.readableEnded) reject(body.errored ?? new Error('the body broke off'))
  })
  const end = (): void => void outgoing.end(() => resolve())
  body.once('end', end)
  body.on('data', (piece: Uint8Array) => {
    notePassing(piece.length)
    if (outgoing.destroyed) return
    if (!outgoing.write(piece)) valve.hold('reader')
    flow.count(piece.length)
  })
  if (outgoing.destroyed) left()
  // An end or failure before this emits no further event.
  else if (body.readableEnded) end()
  else if (body.destroyed || body.errored) reject(body.errored ?? new Error('the body broke off'))
  try {
    await sent
  } finally {
    outgoing.off('close', left).off('drain', drained)
    flow.close()
    if (!body.readableEnded) body.destroy()
  }
}
