import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { type BoxHandle, createBoxyard } from '../../sdk/typescript/src/boxyard.ts'
import type { Connection } from '../context/connection.ts'

/**
 * Moves bytes with `move`. On the host of the service, moves large amounts with a ticket to the agent's data address, because passing
 * through the front costs as much as sending them. Falls back to the front if the data address leads nowhere.
 */
export async function moveByShortestWay<T>(
  connection: Connection,
  { box, sizeBytes }: { box: BoxHandle; sizeBytes: number },
  move: (box: BoxHandle) => Promise<T>,
): Promise<T> {
  const { url, token } = connection
  if (sizeBytes < LONG_BYTES || !LOOPBACK.has(new URL(url).hostname)) return move(box)
  try {
    return await move(createBoxyard({ url, token, tickets: 'always' }).box(box.project, box.name))
  } catch (error) {
    // A tunnel may lead to the front of another host, whose data address is not on this one.
    if (error instanceof ApiError && !isOfAnother(error)) throw error
    return move(box)
  }
}

/** Returns whether the answer came from a server that may not know the ticket or did not issue it. */
function isOfAnother({ status, code }: ApiError): boolean {
  return status === 401 || status === 403 || code === 'unexpected_answer'
}

/** Above this size the saving exceeds the cost of a ticket request. */
const LONG_BYTES = 16 * 1024 * 1024
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost'])
