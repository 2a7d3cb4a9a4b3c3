import { type HttpHandler, type HttpRequest, type HttpResponse, headerOf } from '../shared/http/messages.ts'

/**
 * Allows pages of `origins`, compared exactly, to call `handler` and to read all headers of its answers (CORS). Answers their preflights,
 * which carry no token. Never allows browsers to send cookies, because only `Authorization` gives authority. Without origins, returns
 * `handler`.
 */
export function allowOrigins(origins: readonly string[], handler: HttpHandler): HttpHandler {
  if (origins.length === 0) return handler
  const allowed = new Set(origins)
  return async (request) => {
    const origin = headerOf(request.headers, 'origin')
    if (origin === undefined || !allowed.has(origin)) return withHeaders(await handler(request), {})
    const allows = { 'access-control-allow-origin': origin }
    if (isPreflight(request)) return withHeaders(NO_CONTENT, { ...allows, ...PREFLIGHT })
    return withHeaders(await handler(request), { ...allows, 'access-control-expose-headers': '*' })
  }
}

function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/** Adds headers, and `Origin` to `Vary` even if nothing is allowed, because a cache must keep answers to different origins apart. */
function withHeaders(response: HttpResponse, added: Record<string, string>): HttpResponse {
  const vary = headerOf(response.headers, 'vary')
  const varies = { vary: vary === undefined ? 'Origin' : `${vary}, Origin` }
  return { ...response, headers: { ...response.headers, ...varies, ...added } }
}

const NO_CONTENT: HttpResponse = { status: 204, headers: { 'cache-control': 'no-store' }, body: null }
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers': [
    ...['authorization', 'content-type', 'idempotency-key', 'if-match', 'if-none-match'],
    ...['last-event-id', 'prefer', 'range', 'x-request-id'],
  ].join(', '),
  'access-control-max-age': '600',
}
