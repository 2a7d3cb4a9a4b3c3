import { ServiceError } from '../shared/errors.ts'
import { type HeaderMap, type HttpResponse, headerOf, splitTarget } from '../shared/http/messages.ts'
import { operations } from '../shared/routes.ts'

/** The parts of a request that tell whether it is one of a session, or begins one. */
interface SessionHead {
  method: string
  target: string
  headers: HeaderMap
}

/**
 * Returns the request that is judged and forwarded: without the halves of a session, which no agent and no log gets, and without
 * cookies, which no operation takes. A session stands for its token, unless there is an `Authorization`; a cookie alone for nothing.
 * @throws ServiceError `token_invalid` for a session that is not whole, `permission_denied` for one that another origin's page sends or
 * begins
 */
export async function enterSession<R extends SessionHead>(request: R): Promise<R> {
  const { cookie, 'x-boxyard-session': session, ...headers } = request.headers
  if (isSignIn(request)) await checkOwnPage(headers)
  if (cookie === undefined && session === undefined) return request
  if (session === undefined || headers['authorization'] !== undefined) return { ...request, headers }
  // Loaded by the first request of a session: a function may never get one.
  const { readSession } = await import('../shared/auth/session.ts')
  const found = readSession(request.headers)
  if ('code' in found) throw new ServiceError(found.code, found.detail)
  return { ...request, headers: { ...headers, authorization: `Bearer ${found.token}` } }
}

function isSignIn({ method, target }: SessionHead): boolean {
  return method === operations.signIn.method && splitTarget(target).pathname === operations.signIn.path
}

/** Else a foreign page could sign its visitor in to a session of its owner's, by a link of that one. */
async function checkOwnPage(headers: HeaderMap): Promise<void> {
  if (headers['origin'] === undefined && headers['sec-fetch-site'] === undefined) return
  const { FOREIGN_PAGE, isOfOwnPage } = await import('../shared/auth/session.ts')
  if (!isOfOwnPage(headers)) throw new ServiceError('permission_denied', FOREIGN_PAGE)
}

/**
 * Has the cookies of an answer kept for HTTPS and this host alone, for a page that came by HTTPS. Its browser tells, since what stands
 * before a front may not: it sends `Origin` with every POST and DELETE.
 */
export async function secureCookies(
  response: HttpResponse,
  { headers }: { headers: HeaderMap },
): Promise<HttpResponse> {
  const cookies = response.headers['set-cookie']
  if (cookies === undefined || !headerOf(headers, 'origin')?.startsWith('https:')) return response
  const { secureCookie } = await import('../shared/auth/session.ts')
  return { ...response, headers: { ...response.headers, 'set-cookie': [cookies].flat().map(secureCookie) } }
}
