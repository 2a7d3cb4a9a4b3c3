import { addTicket } from '../shared/auth/ticket-target.ts'
import { ServiceError } from '../shared/errors.ts'
import { type HeaderMap, type HttpResponse, splitTarget } from '../shared/http/messages.ts'
import { operations } from '../shared/routes.ts'

/** The parts of a request that tell whether it is one of a session, or begins one. */
interface SessionHead {
  method: string
  target: string
  headers: HeaderMap
}

/** A request that is judged and forwarded, and the token of the session that ends once it has begun another; null: none. */
interface Entered<R> {
  request: R
  left: string | null
}

/**
 * Returns the request that is judged and forwarded: without the halves of a session, which no agent and no log gets, and without
 * cookies, which no operation takes. A session stands for its token, unless there is an `Authorization`, or the ticket of a sign-in; a
 * cookie alone for nothing.
 * @throws ServiceError `token_invalid` for a session that is not whole, `permission_denied` for one that another origin's page sends or
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
  // Loaded by the first request of a session: a function may never get one.
  const { judgeSession } = await import('../shared/auth/session.ts')
  const judged = judgeSession(request, { signsIn })
  if ('code' in judged) throw new ServiceError(judged.code, judged.detail)
  const { authorization } = judged
  // What only reads a link leaves no session.
  const left = ofLink?.ofLink === 'used' ? judged.left : null
  return { request: { ...request, headers: { ...headers, ...authorization } }, left }
}

/** Moves the ticket of a sign-in link to where the agent reads it. The console sends it in a header, which no proxy logs. */
function withLink(target: string, link: string | readonly string[]): string {
  if (typeof link === 'string' && LINK.test(link)) return addTicket(target, link)
  throw new ServiceError('token_invalid', `${LINK_HEADER} is not the ticket of a sign-in link. Copy the complete link.`)
}

/** Has the cookies of an answer kept for HTTPS and this host alone, if the page that asks came by HTTPS. */
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
