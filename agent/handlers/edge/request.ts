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

/** Reads the session cookie from a `Cookie` header. Undefined if it is missing or malformed. Of several the first counts. */
export function sessionOf(cookieHeader: string | undefined): string | undefined {
  return secretCookie(cookieHeader, SESSION_COOKIE)
}

/** Reads the cookie that binds a sign-in to the browser that began it, as `sessionOf`. */
export function nonceOf(cookieHeader: string | undefined): string | undefined {
  return secretCookie(cookieHeader, NONCE_COOKIE)
}

/** Returns `Set-Cookie` of a session that lasts `seconds`. An empty value and 0 delete it. */
export function sessionCookie(value: string, seconds: number): string {
  return setCookie(SESSION_COOKIE, value, seconds)
}

/** Returns `Set-Cookie` of a sign-in's nonce, as `sessionCookie`. */
export function nonceCookie(value: string, seconds: number): string {
  return setCookie(NONCE_COOKIE, value, seconds)
}

/** A ticket for a page of a host, as the browser keeps it for the sign-in host. */
export interface KeptTicket {
  ticket: string
  host: string
  /** Path, query and fragment of the page. */
  target: string
}

/** Returns `Set-Cookie` of a ticket that the browser keeps for `seconds`. Null deletes it. */
export function ticketCookie(kept: KeptTicket | null, seconds: number): string {
  const value = kept === null ? '' : [kept.ticket, kept.host, kept.target].map(encodeURIComponent).join('|')
  return setCookie(TICKET_COOKIE, value, seconds)
}

/** Reads the cookie of `ticketCookie`. Null if it is missing or malformed. */
export function ticketOf(cookieHeader: string | undefined): KeptTicket | null {
  const parts = cookieOf(cookieHeader, TICKET_COOKIE)?.split('|') ?? []
  try {
    const [ticket = '', host = '', target = ''] = parts.map(decodeURIComponent)
    return parts.length === 3 ? { ticket, host, target: safeTarget(target) } : null
  } catch {
    return null
  }
}

/** Returns true if a browser opens a page with this request, which may be redirected to the sign-in. */
export function isNavigation({ method, headers }: Pick<EdgeRequest, 'method' | 'headers'>): boolean {
  const mode = headers['sec-fetch-mode'] ?? 'navigate'
  return method === 'GET' && mode === 'navigate' && headers.upgrade === undefined && prefersPage(headers.accept)
}

/**
 * Returns true if no page of another host can have caused a request with the session cookie, which browsers send automatically. The hosts
 * of all boxes are of one site, so neither `SameSite` nor the same site is enough. `Sec-Fetch-Site` decides. Any site may open a page
 * (`navigate` to a `document`, which a frame is not). All but reads must have an `Origin` of the same host. Browsers before 2023 do not
 * send `Sec-Fetch-Site`. Then `Origin`, else `Referer`, must be of the same host, or the request must accept a page first, as scripts and
 * images never do. HAProxy does the same (config-session.ts).
 */
export function isFromOwnPage({ method, host, headers, isSecure }: EdgeRequest): boolean {
  const { origin, referer, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers
  const isOfHost = (url: string | undefined): boolean => {
    if (url === undefined || !URL.canParse(url)) return false
    const { protocol, hostname } = new URL(url)
    return protocol === (isSecure ? 'https:' : 'http:') && hostname === host
  }
  const isRead = READ_METHODS.has(method) && headers.upgrade === undefined
  if (!isRead && !isOfHost(origin)) return false
  if (site === 'same-origin' || site === 'none') return true
  if (site !== undefined) return isRead && mode === 'navigate' && destination === 'document'
  return origin === undefined ? isOfHost(referer) || /^text\/html/i.test(headers.accept ?? '') : isOfHost(origin)
}

/**
 * Returns a path and query that a browser may be redirected to. Returns `/` for anything that could leave the host. Also returns it if the
 * path leads to an own path once a browser has resolved it (`/./.boxyard/…`) or a program has decoded it.
 */
export function safeTarget(target: string | null | undefined): string {
  const isPlain = target !== null && target !== undefined && target.length <= TARGET_MAX && SAFE_TARGET.test(target)
  if (!isPlain) return '/'
  const readings = readingsOf(target)
  return readings === null || readings.some((path) => path.startsWith(OWN_PATHS)) ? '/' : target
}

/**
 * Returns the path as a browser resolves it, then as programs read it that decode it once, twice and so on. Returns null if escapes are
 * nested beyond the limit, because each level would take another round.
 */
function readingsOf(target: string): string[] | null {
  const readings: string[] = []
  for (let path = new URL(`http://host${target}`).pathname; path !== readings.at(-1); ) {
    if (readings.length > DECODINGS_MAX) return null
    readings.push(path)
    const decoded = path.replaceAll(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    const { pathname } = new URL(`http://host/${decoded.replaceAll('\\', '/').replaceAll(/[?#]/g, '_')}`)
    path = pathname.replaceAll(/\/{2,}/g, '/')
  }
  return readings.map((path) => path.toLowerCase())
}

function secretCookie(header: string | undefined, name: string): string | undefined {
  const value = cookieOf(header, name)
  return value !== undefined && SECRET.test(value) ? value : undefined
}

function cookieOf(header: string | undefined, name: string): string | undefined {
  const pair = header?.split(';').find((part) => part.trimStart().startsWith(`${name}=`))
  return pair?.slice(pair.indexOf('=') + 1).trim()
}

function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${Math.floor(seconds)}; Secure; HttpOnly; SameSite=Lax`
}

/** Prefix of the paths that the edge answers itself at every host. They never reach a box. */
export const OWN_PATHS = '/.boxyard/'
const SESSION_COOKIE = '__Host-boxyard'
const NONCE_COOKIE = '__Host-boxyard-nonce'
const TICKET_COOKIE = '__Host-boxyard-ticket'
const SECRET = /^[A-Za-z0-9_-]{43}$/
/** Visible ASCII without backslashes, which browsers read as slashes. Two slashes would start another host. */
const SAFE_TARGET = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/
const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const TARGET_MAX = 2_048
const DECODINGS_MAX = 3
