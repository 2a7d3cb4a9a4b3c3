import { prefersPage } from '../../../shared/http/page.ts'
import type { EdgeRequest } from '../../ports/edge/edge.ts'

/**
 * The value of our session cookie in a `Cookie` header, undefined if there is none that has the form of one. Of several the
 * first counts.
 */
export function sessionOf(cookieHeader: string | undefined): string | undefined {
  return secretCookie(cookieHeader, SESSION_COOKIE)
}

/** As `sessionOf`, what the browser was given when it was sent to sign in. */
export function nonceOf(cookieHeader: string | undefined): string | undefined {
  return secretCookie(cookieHeader, NONCE_COOKIE)
}

/** `Set-Cookie` of a session that lasts `seconds`; with `''` and 0 it is forgotten. */
export function sessionCookie(value: string, seconds: number): string {
  return setCookie(SESSION_COOKIE, value, seconds)
}

/** As `sessionCookie`, what a sign-in is bound to. */
export function nonceCookie(value: string, seconds: number): string {
  return setCookie(NONCE_COOKIE, value, seconds)
}

/** Whether a person's browser opens a page with this request: what may be led to another page in its place. */
export function isNavigation({ method, headers }: Pick<EdgeRequest, 'method' | 'headers'>): boolean {
  const mode = headers['sec-fetch-mode'] ?? 'navigate'
  return method === 'GET' && mode === 'navigate' && headers.upgrade === undefined && prefersPage(headers.accept)
}

/**
 * Whether a request that a cookie vouches for may act: browsers add cookies to what other pages send as well, so that all but
 * plain reads must come from a page of the same host.
 */
export function isFromOwnPage({ method, host, headers, isSecure }: EdgeRequest): boolean {
  if (SAFE_METHODS.has(method) && headers.upgrade === undefined) return true
  const origin = headers.origin === undefined || !URL.canParse(headers.origin) ? null : new URL(headers.origin)
  return origin?.protocol === (isSecure ? 'https:' : 'http:') && origin.hostname === host
}

/** Path and query of the same host to lead a browser to; `/` for whatever might lead elsewhere, or to a page of ours. */
export function safeTarget(target: string | null | undefined): string {
  const isPlain = target !== null && target !== undefined && target.length <= TARGET_MAX && SAFE_TARGET.test(target)
  return isPlain && !target.startsWith(OWN_PATHS) ? target : '/'
}

/** A host name from a `Host` header or what claims to be one: lower case, without port and trailing dot; null if it is none. */
export function hostNameOf(given: string | null | undefined): string | null {
  const name =
    given
      ?.toLowerCase()
      .replace(/:\d{1,5}$/, '')
      .replace(/\.$/, '') ?? ''
  return name.length <= 253 && HOST.test(name) ? name : null
}

/** Who is counted as one guesser: an IPv4 address, or the half of an IPv6 address that names a network. */
export function guesserOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail = ''] = address.toLowerCase().split('::', 2)
  const left = head.split(':').filter(Boolean)
  const right = tail.split(':').filter(Boolean)
  const zeros = address.includes('::')
    ? Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
    : []
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}

function secretCookie(header: string | undefined, name: string): string | undefined {
  const pair = header?.split(';').find((part) => part.trimStart().startsWith(`${name}=`))
  const value = pair?.slice(pair.indexOf('=') + 1).trim()
  return value !== undefined && SECRET.test(value) ? value : undefined
}

function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${Math.floor(seconds)}; Secure; HttpOnly; SameSite=Lax`
}

/** Paths of every host that are ours, and never reach a box. */
export const OWN_PATHS = '/.boxyard/'
const SESSION_COOKIE = '__Host-boxyard'
const NONCE_COOKIE = '__Host-boxyard-nonce'
const SECRET = /^[A-Za-z0-9_-]{43}$/
/** Visible ASCII but for backslashes, which browsers take for slashes; two slashes would begin another host. */
const SAFE_TARGET = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/
const HOST = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
const TARGET_MAX = 2_048
