import type { Operation } from '../operation.ts'

/** A request target without its ticket, and the ticket, if its query has one. */
export interface TicketTarget {
  target: string
  ticket: string | null
}

/** Takes the `ticket` out of the query of a request target; the rest stays as it was sent, to the byte. */
export function splitTicket(target: string): TicketTarget {
  const mark = target.indexOf('?')
  if (mark < 0) return { target, ticket: null }
  const parts = target.slice(mark + 1).split('&')
  const found = parts.find((part) => part.startsWith(PREFIX))
  if (found === undefined) return { target, ticket: null }
  const rest = parts.filter((part) => !part.startsWith(PREFIX)).join('&')
  return { target: target.slice(0, mark) + (rest === '' ? '' : `?${rest}`), ticket: found.slice(PREFIX.length) }
}

/** `target` with the ticket in its query. */
export function addTicket(target: string, ticket: string): string {
  return `${target}${target.includes('?') ? '&' : '?'}${PREFIX}${ticket}`
}

/** What a log may say of a target: no ticket, and nothing of a command line, which may hold whatever its user put there. */
export function loggedTarget(target: string, operation: Pick<Operation, 'transport'> | null): string {
  const told = splitTicket(target).target
  const mark = told.indexOf('?')
  return mark >= 0 && operation?.transport === 'websocket' ? told.slice(0, mark) : told
}

const PREFIX = 'ticket='
