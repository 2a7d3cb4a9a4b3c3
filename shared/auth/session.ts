import { createCipheriv, createDecipheriv, createHash, hash, randomBytes } from 'node:crypto'
import { type HeaderMap, headerOf } from '../http/messages.ts'
import { splitTicket } from './ticket-target.ts'

/** A token in two halves. Each is worthless without the other (docs/access.md#sessions-of-the-console). */
export interface SplitSession {
  /** The encrypted token, preceded by the name of its cookie. It belongs in a header, which only pages of one origin can send. */
  session: string
  /** Name and value of the cookie with the key. */
  cookie: { name: string; value: string }
}

/**
 * Splits a token. All ports of a host share cookies, so any server at another port gets the key. Services have cookies of different names,
 * so that a sign-in at one does not end the session at another.
 */
export function splitToken(token: string, service: string): SplitSession {
  const name = cookieName(suffixOf(service))
  const key = randomBytes(KEY_BYTES)
  const cipher = createCipheriv(CIPHER, key, NO_NONCE).setAAD(Buffer.from(name))
  const sealed = Buffer.concat([markOf(key), cipher.update(packToken(token)), cipher.final(), cipher.getAuthTag()])
  const session = `${suffixOf(service)}.${sealed.toString('base64url')}`
  return { session, cookie: { name, value: key.toString('base64url') } }
}

/** Returns the name of the cookie with the key of the sessions of a service. */
export function sessionCookieName(service: string): string {
  return cookieName(suffixOf(service))
}

/**
 * Returns the cookies for a page that came over HTTPS. Browsers send cookies with this prefix only over HTTPS, and accept none from another
 * port without it. The seal of a token covers the name without the prefix, because only the front knows how the page came. The front learns
 * this from the `Origin` that browsers send with every POST and DELETE. A proxy before the front may not report it.
 */
export function cookiesFor(headers: HeaderMap, cookies: string | readonly string[]): readonly string[] {
  const isSecure = headerOf(headers, 'origin')?.startsWith('https:') === true
  return [cookies].flat().map((cookie) => (isSecure ? `${HOST_PREFIX}${cookie}; Secure` : cookie))
}

/**
 * The authorization of a request from its session, unless it already has one, and the token of the session that the browser leaves by it.
 * Or the reason for refusing it.
 */
export type JudgedSession =
  | { authorization: { authorization?: string }; left: string | null }
  | { code: 'permission_denied' | 'token_invalid'; detail: string }

/**
 * Judges a request of a session, or one that begins a session (`signsIn`). Only pages of the own origin can do either. Another page could
 * otherwise put its visitor into another user's session. Joins the halves in its headers.
 */
export function judgeSession(
  { target, headers }: { target: string; headers: HeaderMap },
  { signsIn }: { signsIn: boolean },
): JudgedSession {
  if (!isOfOwnPage(headers)) return { code: 'permission_denied', detail: FOREIGN }
  const session = headerOf(headers, 'x-boxyard-session')
  const token = session === undefined ? null : joinToken(session, headerOf(headers, 'cookie'))
  const left = signsIn ? token : null
  const isNamed = headers['authorization'] !== undefined || (signsIn && splitTicket(target).ticket !== null)
  if (isNamed || session === undefined) return { authorization: {}, left }
  if (token === null) return { code: 'token_invalid', detail: NOT_WHOLE }
  return { authorization: { authorization: `Bearer ${token}` }, left }
}

/**
 * Returns whether a page of this origin sent the request, as far as its browser says. The header itself already is more than a page of
 * another origin can send (CORS).
 */
function isOfOwnPage(headers: HeaderMap): boolean {
  const site = headerOf(headers, 'sec-fetch-site')
  const origin = headerOf(headers, 'origin')
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  // Ignores the scheme, because a proxy that terminates TLS sends plain HTTP.
  return origin === undefined || origin.replace(/^https?:\/\//, '') === headerOf(headers, 'host')
}

/** Returns the token, or null if a half is missing, altered or of another session. */
function joinToken(session: string, cookieHeader: string | undefined): string | null {
  const [, suffix, sealed] = SESSION.exec(session) ?? []
  if (suffix === undefined || sealed === undefined) return null
  const name = cookieName(suffix)
  const bytes = Buffer.from(sealed, 'base64url')
  const key = findKey(cookieHeader ?? '', { name, mark: bytes.subarray(0, MARK_BYTES) })
  const packed = key === null ? null : unseal(bytes.subarray(MARK_BYTES), { key, name })
  return packed === null ? null : unpackToken(packed)
}

/**
 * Returns the key of a mark among all cookies of its name. Over plain HTTP a server at another port can set as many as a browser keeps. A
 * hash distinguishes them at a tenth of the cost of deciphering.
 */
function findKey(cookieHeader: string, { name, mark }: { name: string; mark: Buffer }): Buffer | null {
  for (const pair of cookieHeader.split(';', COOKIES_MAX)) {
    const [found, value = ''] = pair.trim().split('=', 2)
    if ((found !== name && found !== HOST_PREFIX + name) || !KEY.test(value)) continue
    const key = Buffer.from(value, 'base64url')
    if (markOf(key).equals(mark)) return key
  }
  return null
}

/** Returns a mark that distinguishes a key from others, and reveals nothing about it. */
function markOf(key: Buffer): Buffer {
  return hash('sha256', key, 'buffer').subarray(0, MARK_BYTES)
}

function unseal(sealed: Buffer, { key, name }: { key: Buffer; name: string }): Buffer | null {
  if (sealed.length < TAG_BYTES) return null
  const end = sealed.length - TAG_BYTES
  const decipher = createDecipheriv(CIPHER, key, NO_NONCE, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(end))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()])
  } catch {
    return null
  }
}

/** Decodes the parts of a token, so that the header is as short as the token itself. */
function packToken(token: string): Buffer {
  const parts = token.split('.').map((part) => Buffer.from(part, 'base64url'))
  return Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [LINE_END, part])))
}

/** Undoes `packToken`. The first two parts are JSON of one line each. The last is a signature, which may hold any byte. */
function unpackToken(packed: Buffer): string {
  const first = packed.indexOf(LINE_END)
  const second = packed.indexOf(LINE_END, first + 1)
  const parts = [packed.subarray(0, first), packed.subarray(first + 1, second), packed.subarray(second + 1)]
  return parts.map((part) => part.toString('base64url')).join('.')
}

function suffixOf(service: string): string {
  return createHash('sha256').update(`boxyard session\n${service}`).digest('hex').slice(0, 8)
}

function cookieName(suffix: string): string {
  return `boxyard_session_${suffix}`
}

const FOREIGN =
  'A session is for pages of this origin only. Origin does not match Host, or Sec-Fetch-Site is not same-origin. Use a page of this address, or a token. A proxy must pass Host on.'
const NOT_WHOLE =
  'The browser sent no session cookie. It has expired, was deleted, or belongs to another browser. Sign in again.'
const CIPHER = 'aes-256-gcm'
const HOST_PREFIX = '__Host-'
const KEY_BYTES = 32
const TAG_BYTES = 16
const MARK_BYTES = 12
/** Each key encrypts once. */
const NO_NONCE = Buffer.alloc(12)
const LINE_END = Buffer.from('\n')
const SESSION = /^([0-9a-f]{8})\.([A-Za-z0-9_-]{1,32768})$/
const KEY = /^[A-Za-z0-9_-]{43}$/
/** Browsers keep about 180 for a host. */
const COOKIES_MAX = 256
