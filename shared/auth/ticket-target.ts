import type { Operation } from '../operation.ts'

/** A request target without its ticket, and the ticket of its query, if any. */
export interface TicketTarget {
  target: string
  ticket: string | null
}

/** Removes the `ticket` from the query of a request target; the rest stays byte for byte. */
export function splitTicket(target: string): TicketTarget {
  const mark = target.indexOf('?')
  if (mark < 0) return { target, ticket: null }
  const parts = target.slice(mark + 1).split('&')
  const found = parts.find((part) => part.startsWith(PREFIX))
  if (found === undefined) return { target, ticket: null }
  const rest = parts.filter((part) => !part.startsWith(PREFIX)).join('&')
  return { target: target.slice(0, mark) + (rest === '' ? '' : `?${rest}`), ticket: found.slice(PREFIX.length) }
}

/** Adds a ticket to the query of `target`. */
export function addTicket(target: string, ticket: string): string {
  return `${target}${target.includes('?') ? '&' : '?'}${PREFIX}${ticket}`
}

/**
 * Returns a target for the log: without its ticket, without the query of a WebSocket, which holds a command line and its secrets, and
 * at most 512 bytes of it.
 */
export function loggedTarget(target: string, operation: Pick<Operation, 'transport'> | null): string {
  const plain = splitTicket(target).target
  const mark = plain.indexOf('?')
  return cutText(mark >= 0 && operation?.transport === 'websocket' ? plain.slice(0, mark) : plain)
}

/** Cuts a text of clients at 512 bytes, with an ellipsis as its end. */
export function cutText(text: string): string {
  if (Buffer.byteLength(text) <= TEXT_BYTES) return text
  const cut = Buffer.from(text)
    .subarray(0, TEXT_BYTES - 3)
    .toString()
  return `${cut.replace(/\uFFFD+$/, '')}…`
}

const TEXT_BYTES = 512
const PREFIX = 'ticket='
