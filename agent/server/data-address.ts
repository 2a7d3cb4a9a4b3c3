import { splitTicket } from '../../shared/auth/ticket-target.ts'
import type { HttpHandler, HttpRequest, HttpResponse } from '../../shared/http/messages.ts'
import { createMatcher, type Matcher } from '../../shared/match.ts'
import { takesTicket } from '../../shared/operation.ts'
import { OPERATIONS, operations } from '../../shared/routes.ts'

/**
 * Matches the operations that a function cannot carry, which only the data address serves (docs/access.md). Also matches the types of its
 * problems, which are paths of the origin that answered.
 */
export function matchTicketed(): Matcher {
  return createMatcher([...TICKETED, operations.listProblems, operations.getProblem])
}

/**
 * Allows any origin (CORS) for requests with a ticket. The ticket is the only authority, and browsers add none. Requests without a ticket
 * get no CORS headers.
 */
export function allowPages(handler: HttpHandler): HttpHandler {
  return async (request) => {
    if (splitTicket(request.target).ticket === null) return handler(request)
    if (isPreflight(request)) return { status: 204, headers: { ...ANY_ORIGIN, ...PREFLIGHT }, body: null }
    const response: HttpResponse = await handler(request)
    return { ...response, headers: { ...response.headers, ...ANY_ORIGIN, 'access-control-expose-headers': '*' } }
  }
}

function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

const TICKETED = OPERATIONS.filter(takesTicket)
// `no-store`: an answer fetched with a one-time ticket must not stay in a cache.
const ANY_ORIGIN = { 'access-control-allow-origin': '*', 'cache-control': 'no-store' }
const PREFLIGHT = {
  'access-control-allow-methods': [...new Set(TICKETED.map(({ method }) => method))].join(', '),
  'access-control-allow-headers': 'content-type, if-match, if-none-match, last-event-id, range, x-request-id',
  'access-control-max-age': '600',
}
