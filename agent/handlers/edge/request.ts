import { bearerToken } from '../../../shared/http/messages.ts'
import { prefersPage } from '../../../shared/http/page.ts'
import type { AccessRequest } from '../../core/edge/access.ts'
import type { EdgeRequest } from '../../ports/edge/edge.ts'

/** Reads what a request is admitted by. */
export function accessRequestOf(request: EdgeRequest): AccessRequest {
  const { host, headers, clientAddress } = request
  const [token, session] = [bearerToken(headers), sessionOf(headers.cookie)]
  return { host, clientAddress, token, session, isFromOwnPage: isFromOwnPage(request) }
}

/**
 * Reads the session cookie from a `Cookie` header; undefined if it is missing or malformed. Of several the first counts.
 */
export function sessionOf(cookieHeader: string | undefined): string | undefined {
  return secretCookie(cookieHeader, SESSION_COOKIE)
}

/** Reads the cookie that binds a sign-in to the browser that began it, as `sessionOf`. */
export function nonceOf(cookieHeader: string | undefined): string | undefined {
  return secretCookie(cookieHeader, NONCE_COOKIE)
}

/** Returns `Set-Cookie` of a session that lasts `seconds`; `''` and 0 delete it. */
export function sessionCookie(value: string, seconds: number): string {
  return setCookie(SESSION_COOKIE, value, seconds)
}

/** Returns `Set-Cookie` of a sign-in's nonce, as `sessionCookie`. */
export function nonceCookie(value: string, seconds: number): string {
  return setCookie(NONCE_COOKIE, value, seconds)
}

/** Returns true if a browser opens a page with this request, which may be redirected to the sign-in. */
export function isNavigation({ method, headers }: Pick<EdgeRequest, 'method' | 'headers'>): boolean {
  const mode = headers['sec-fetch-mode'] ?? 'navigate'
  return method === 'GET' && mode === 'navigate' && headers.upgrade === undefined && prefersPage(headers.accept)
}

/**
 * Returns true if a request with a session cookie is safe from CSRF: browsers send cookies with requests of other sites' pages, so
 * all but plain reads must have an `Origin` of the same host.
 */
export function isFromOwnPage({ method, host, headers, isSecure }: EdgeRequest): boolean {
  if (SAFE_METHODS.has(method) && headers.upgrade === undefined) return true
  const origin = headers.origin === undefined || !URL.canParse(headers.origin) ? null : new URL(headers.origin)
  return origin?.protocol === (isSecure ? 'https:' : 'http:') && origin.hostname === host
}

/** Returns a path and query that a browser may be redirected to; `/` for anything that could leave the host or is an own path. */
export function safeTarget(target: string | null | undefined): string {
  const isPlain = target !== null && target !== undefined && target.length <= TARGET_MAX && SAFE_TARGET.test(target)
  return isPlain && !target.startsWith(OWN_PATHS) ? target : '/'
}

function secretCookie(header: string | undefined, name: string): string | undefined {
  const pair = header?.split(';').find((part) => part.trimStart().startsWith(`${name}=`))
  const value = pair?.slice(pair.indexOf('=') + 1).trim()
  return value !== undefined && SECRET.test(value) ? value : undefined
}

function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${Math.floor(seconds)}; Secure; HttpOnly; SameSite=Lax`
}

/** Prefix of the paths that the edge answers itself at every host; they never reach a box. */
export const OWN_PATHS = '/.boxyard/'
const SESSION_COOKIE = '__Host-boxyard'
const NONCE_COOKIE = '__Host-boxyard-nonce'
const SECRET = /^[A-Za-z0-9_-]{43}$/
/** Visible ASCII without backslashes, which browsers read as slashes; two slashes would start another host. */
const SAFE_TARGET = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
const TARGET_MAX = 2_048
