import { obstacleOf, originOf, parseUrl, SCHEMES } from './addresses.ts'
import { isNode } from './platform.ts'
import { refusalOf } from './problems.ts'

type Fetch = (request: Request) => Promise<Response>

/**
 * Returns the redirect mode of a request that `followReads` sends. Only reads follow redirects. Pages cannot see the address of a redirect.
 * There the browser follows it, without the token to another origin and never in plain text from an encrypted page.
 */
export function redirectOf(method: string): 'manual' | 'follow' | 'error' {
  if (isNode()) return 'manual'
  return method === 'GET' ? 'follow' : 'error'
}

/**
 * Creates a fetch that follows the redirect of a read whose answer the front cannot carry (307 to the data address). Sends no token to
 * another origin. Turns every other redirect into an error with code `unexpected_answer`.
 */
export function followReads(fetch: Fetch): Fetch {
  return async (first) => {
    let request = first
    for (let followed = 0; ; followed++) {
      const response = await fetch(followed === 0 ? first : request)
      const location = response.headers.get('location')
      if (!REDIRECTS.has(response.status) || location === null) return response
      await response.body?.cancel()
      const target = parseUrl(location, request.url)
      const where = target === null ? 'an invalid URL' : originOf(target)
      if (target === null || response.status !== TEMPORARY || first.method !== 'GET' || followed === FOLLOWED_MAX)
        return refusalOf(response.status, `The service redirects to ${where}, which this client does not follow.`)
      const obstacle = obstacleOf(request.url, target.href, SCHEMES.http)
      if (obstacle !== null)
        return refusalOf(response.status, `The service redirects to an address that this client rejects: ${obstacle}`)
      request = elsewhere(request, target)
    }
  }
}

function elsewhere(request: Request, target: URL): Request {
  const isSameOrigin = new URL(request.url).origin === target.origin
  const headers = [...request.headers].filter(([name]) => isSameOrigin || SENT_ELSEWHERE.has(name))
  return new Request(target, { headers, signal: request.signal, redirect: 'manual' })
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])
const TEMPORARY = 307
/** One redirect to the data address, and one to its new location. */
const FOLLOWED_MAX = 2
/** Headers that another origin also gets. They select bytes, and do not identify the client. */
const SENT_ELSEWHERE = new Set(['accept', 'range', 'if-none-match', 'x-request-id'])
