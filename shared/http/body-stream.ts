import { Readable } from 'node:stream'
import type { HttpResponse } from './messages.ts'

/** Whether a body comes in pieces. */
export function isStream(body: HttpResponse['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

/** Closes a stream that nobody reads; one that was never begun has to close by its iterator's `return`. */
export async function cancelStream(body: AsyncIterable<Uint8Array>): Promise<void> {
  if (body instanceof Readable) {
    // Some tell of their being cut off, to nobody.
    body.on('error', () => {})
    body.destroy()
  } else await body[Symbol.asyncIterator]().return?.()
}
