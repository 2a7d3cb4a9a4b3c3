import { type ApiError, ConnectionError, toApiError } from '@boxyard/sdk'
import { unreachableWords } from './error-words.ts'
import { endKept, endOf, endWords, keepEnd, type SessionEnd } from './session-ends.ts'

/**
 * The session of this origin, which is an httpOnly cookie, and a key that this page stores and sends as a header. Each is worthless without
 * the other. A cookie goes to every port of the host, and stored data only to its own origin.
 */
const KEY = 'boxyard.session'
const HEADER = 'x-boxyard-session'
/** When the session ends at the latest, in ms by the clock of this browser. */
const ENDS_AT = 'boxyard.session-ends-at'

/** Called with the reason in words when the session has ended. */
type Ended = (reason: string) => void
let onEnded: Ended = () => undefined

/** Returns true if this browser has signed in here. Only the service knows whether the session is still valid. */
export function hasSession(): boolean {
  return sessionKey() !== null
}

/** Calls `ended` whenever the service no longer accepts the session. */
export function watchSession(ended: Ended): void {
  onEnded = ended
  isOver = !hasSession()
}

/** Returns true for a storage change by which another tab has signed in or out. */
export function isSessionChange(change: Record<'key' | 'oldValue' | 'newValue', string | null>): boolean {
  return change.key === null || (change.key === KEY && change.oldValue !== change.newValue)
}

/** Returns the half of the session that this page keeps, or null without one. */
export function sessionKey(): string | null {
  return localStorage.getItem(KEY)
}

/** Returns the headers that add the session to a request. */
export function sessionHeaders(): Record<string, string> {
  const key = sessionKey()
  return key === null ? {} : { [HEADER]: key }
}

let reason: string | null = null
/** Whether this page knows that it has no session. Refusals of its remaining requests then report nothing new. */
let isOver = false

/** Keeps why the session has ended, for the next page. The address must not hold it, because anyone could write one. */
export function keepReason(words: string | null): void {
  reason = words
}

/** Returns why the session has ended, or null if it has not. */
export function reasonKept(): string | null {
  return reason
}

/** Keeps the reason if a page that had a session no longer finds one. */
export function noteLoss(): void {
  if (isOver) return
  endHere({ kind: 'cleared' })
  keepReason(endWords({ kind: 'cleared' }))
}

/** Takes over the state of another tab. Returns why that tab ended the session, or null if it has begun another. */
export function followOthers(): string | null {
  isOver = !hasSession()
  return isOver ? endWords(endKept() ?? { kind: 'cleared' }) : null
}

/** Sends a request of the session. Forgets the session if the service rejects it. */
export async function sessionFetch(request: Request): Promise<Response> {
  const key = sessionKey()
  for (const [name, value] of Object.entries(sessionHeaders())) request.headers.set(name, value)
  const response = await fetch(request)
  if (response.status === 401) noteRefusal(key, await problemIn(response.clone()))
  return response
}

/** Forgets the session of `key` (null for none) after a refusal, and reports why it has ended. */
export function noteRefusal(key: string | null, error: ApiError): void {
  if (key !== sessionKey() || isOver) return
  // A tab that signs out has stored the reason before the service answers.
  const told: SessionEnd = key === null ? { kind: 'cleared' } : (endKept() ?? endOf(error, endsAt(), Date.now()))
  endHere(told)
  onEnded(endWords(told))
}

function endsAt(): number {
  return Number(localStorage.getItem(ENDS_AT) ?? Number.POSITIVE_INFINITY)
}

/** Ends the session here, and stores the reason for other tabs, which notice the change of the key. */
function endHere(end: SessionEnd): void {
  isOver = true
  keepEnd(end)
  localStorage.removeItem(ENDS_AT)
  localStorage.removeItem(KEY)
}

/** A credential that begins a session: a token, or the single-use ticket of a sign-in link. */
export type Credential = { token: string } | { ticket: string }

/** Begins a session. @throws ApiError for a rejected credential, ConnectionError */
export async function signIn(credential: Credential): Promise<void> {
  const headers =
    'token' in credential ? { authorization: `Bearer ${credential.token}` } : linkHeaders(credential.ticket)
  // Sends the session that this browser still has, which then ends.
  const response = await post('/v1/session', { ...sessionHeaders(), ...headers })
  const body = (await response.json()) as Record<string, unknown>
  if (!response.ok || typeof body['session'] !== 'string') throw toApiError(response.status, body)
  keepEnd(null)
  localStorage.setItem(ENDS_AT, String(endOfAnswer(response, body)))
  localStorage.setItem(KEY, body['session'])
  reason = null
  isOver = false
}

/** Returns when a session ends that an answer has begun. Allows for a service with another clock. */
function endOfAnswer({ headers }: Response, { token }: Record<string, unknown>): number {
  const { expires_at: end } = (token ?? {}) as Record<string, unknown>
  const now = Date.now()
  const serviceNow = Date.parse(headers.get('date') ?? '') || now
  return typeof end === 'string' ? now + Date.parse(end) - serviceNow : Number.POSITIVE_INFINITY
}

/** The token that a sign-in link signs in with. */
export interface LinkFacts {
  token: { id: string; name: string; projects: '*' | readonly string[]; permissions: readonly string[] }
  /** End of the session that the link would begin. */
  expires_at: string
}

/**
 * Reads the token that a sign-in link signs in with, without using up the link or changing the session of this browser.
 * @throws ApiError for a link that is used, expired or of another service, ConnectionError
 */
export async function readLink(ticket: string): Promise<LinkFacts> {
  const response = await reach(() => fetch('/v1/session/links', { headers: linkHeaders(ticket), credentials: 'omit' }))
  if (!response.ok) throw await problemIn(response)
  return (await response.json()) as LinkFacts
}

/** Ends the session at the service, and then here. @throws ApiError, ConnectionError. The session then stays */
export async function signOut(): Promise<void> {
  // Runs before the service refuses requests of other tabs. This tab sends nothing new.
  keepEnd({ kind: 'signed-out' })
  isOver = true
  try {
    const response = await reach(() => sessionFetch(new Request('/v1/session', { method: 'DELETE' })))
    // A session that the service rejects has already ended.
    if (!response.ok && response.status !== 401) throw await problemIn(response)
  } catch (error) {
    keepEnd(null)
    isOver = false
    throw error
  }
  endHere({ kind: 'signed-out' })
}

/** Forgets the session here. At the service it stays valid until it is revoked or expires. */
export function forgetSession(): void {
  endHere({ kind: 'forgotten' })
}

/** Sends the ticket of a link in a header that proxies do not log. */
function linkHeaders(ticket: string): Record<string, string> {
  return { 'x-boxyard-link': ticket }
}

function post(path: string, headers: Record<string, string>): Promise<Response> {
  return reach(() => fetch(path, { method: 'POST', headers, credentials: 'same-origin' }))
}

async function reach(send: () => Promise<Response>): Promise<Response> {
  try {
    return await send()
  } catch (error) {
    throw new ConnectionError(unreachableWords(), { cause: error })
  }
}

/** Returns the error in any answer, whether from the service or a proxy. */
export async function problemIn(response: Response): Promise<ApiError> {
  return toApiError(response.status, await response.json().catch(() => null))
}
