import { addTicket } from '../shared/auth/ticket-target.ts'
import { ServiceError } from '../shared/errors.ts'
import { type HeaderMap, type HttpResponse, splitTarget } from '../shared/http/messages.ts'
import { operations } from '../shared/routes.ts'

/** The parts of a request that show whether it belongs to a session or begins one. */
interface SessionHead {
  method: string
  target: string
  headers: HeaderMap
}

/** A request to authorize and forward, with the token of the session that ends once the request has begun another, or null. */
interface Entered<R> {
  request: R
  left: string | null
}

/**
 * Returns the request to authorize and forward. Removes the halves of a session, which no agent and no log gets, and cookies, which no
 * operation takes. A session counts as its token, unless there is an `Authorization` header or the ticket of a sign-in. A cookie without
 * the other half counts for nothing.
 * @throws ServiceError `token_invalid` for an incomplete session, `permission_denied` for a session that a page of another origin sends or
 * begins
 */
export async function enterSession<R extends SessionHead>(given: R): Promise<Entered<R>> {
  const { cookie: _, 'x-boxyard-session': session, [LINK_HEADER]: link, ...headers } = given.headers
  const ofLink = OF_LINKS.find(
    ({ method, path }) => given.method === method && splitTarget(given.target).pathname === path,
  )
  const request =
    ofLink === undefined || link === undefined ? given : { ...given, target: withLink(given.target, link) }
  const signsIn = ofLink !== undefined
  if (!signsIn && (session === undefined || headers['authorization'] !== undefined))
    return { request: { ...request, headers }, left: null }
  // Loaded by the first request of a session, because a function may never get one.
  const { judgeSession } = await import('../shared/auth/session.ts')
  const judged = judgeSession(request, { signsIn })
  if ('code' in judged) throw new ServiceError(judged.code, judged.detail)
  const { authorization } = judged
  // A request that only reads a link leaves no session.
  const left = ofLink?.ofLink === 'used' ? judged.left : null
  return { request: { ...request, headers: { ...headers, ...authorization } }, left }
}

/** Moves the ticket of a sign-in link to where the agent reads it. The console sends it in a header, which proxies do not log. */
function withLink(target: string, link: string | readonly string[]): string {
  if (typeof link === 'string' && LINK.test(link)) return addTicket(target, link)
  throw new ServiceError('token_invalid', `${LINK_HEADER} is not the ticket of a sign-in link. Copy the complete link.`)
}

/** Restricts the cookies of an answer to HTTPS and this host, if the requesting page came over HTTPS. */
export async function secureCookies(
  response: HttpResponse,
  { headers }: { headers: HeaderMap },
): Promise<HttpResponse> {
  const cookies = response.headers['set-cookie']
  if (cookies === undefined) return response
  const { cookiesFor } = await import('../shared/auth/session.ts')
  return { ...response, headers: { ...response.headers, 'set-cookie': cookiesFor(headers, cookies) } }
}

const LINK_HEADER = 'x-boxyard-link'
const LINK = /^[\w.-]{1,128}$/
const OF_LINKS = [operations.signIn, operations.getSignInLink]
