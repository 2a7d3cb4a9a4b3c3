import { Readable } from 'node:stream'
import type { HttpResponse } from './messages.ts'

/** Returns true if a body comes in pieces. */
export function isStream(body: HttpResponse['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

/** Closes a stream without a reader. Calls `return` of its iterator if it was never started. */
export async function cancelStream(body: AsyncIterable<Uint8Array>): Promise<void> {
  if (body instanceof Readable) {
    // Ignores the error that some streams emit when they are destroyed.
    body.on('error', () => {})
    body.destroy()
  } else await body[Symbol.asyncIterator]().return?.()
}
