import type { Operation } from '../operation.ts'

/** A request target without its ticket, and the ticket of its query, if any. */
export interface TicketTarget {
  target: string
  ticket: string | null
}

/** Removes the `ticket` from the query of a request target. The rest stays byte for byte. */
export function splitTicket(target: string): TicketTarget {
  const mark = target.indexOf('?')
  if (mark < 0) return { target, ticket: null }
  const query = target.slice(mark + 1)
  const found = TICKET.exec(query)?.[1]
  if (found === undefined) return { target, ticket: null }
  // Uses one expression, because it may hold thousands of parts.
  const rest = query.replaceAll(TICKETS, '')
  const kept = query.startsWith(PREFIX) ? rest.slice(1) : rest
  return { target: target.slice(0, mark) + (kept === '' ? '' : `?${kept}`), ticket: found }
}

/** Adds a ticket to the query of `target`. */
export function addTicket(target: string, ticket: string): string {
  return `${target}${target.includes('?') ? '&' : '?'}${PREFIX}${ticket}`
}

/** Marks the ticket of a sign-in link with its cell of a fleet. */
export function markLink(ticket: string, cell: string): string {
  return `${cell}.${ticket}`
}

/** Returns the cell that has a sign-in link, or null if the link is invalid or belongs to no fleet. */
export function cellOfLink(ticket: string | null): string | null {
  return LINK.exec(ticket ?? '')?.[1] ?? null
}

/**
 * Returns a target for the log, at most 512 bytes long. Omits its ticket, and the query of a WebSocket, which holds a command line and its
 * secrets.
 */
export function loggedTarget(target: string, operation: Pick<Operation, 'transport'> | null): string {
  const plain = splitTicket(target).target
  const mark = plain.indexOf('?')
  return cutText(mark >= 0 && operation?.transport === 'websocket' ? plain.slice(0, mark) : plain)
}

/** Cuts a client's text at 512 bytes, with a final ellipsis. */
export function cutText(text: string): string {
  if (Buffer.byteLength(text) <= TEXT_BYTES) return text
  const cut = Buffer.from(text)
    .subarray(0, TEXT_BYTES - 3)
    .toString()
  return `${cut.replace(/\uFFFD+$/, '')}…`
}

const TEXT_BYTES = 512
const LINK = /^([0-9a-z]{2,4})\./
const PREFIX = 'ticket='
const TICKET = /(?:^|&)ticket=([^&]*)/
const TICKETS = /(?:^|&)ticket=[^&]*/g
