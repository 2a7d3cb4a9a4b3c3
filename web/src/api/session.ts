import { type ApiError, ConnectionError, toApiError } from '@boxyard/sdk'

/**
 * The session of this origin: an httpOnly cookie, and a key that this page keeps and sends as a header. Neither is worth anything
 * without the other: a cookie goes to every port of the host, what a page keeps only to its own origin.
 */
const KEY = 'boxyard.session'
const HEADER = 'x-boxyard-session'

/** Told when the session has ended, with the reason in words. */
type Ended = (reason: string) => void
let onEnded: Ended = () => undefined

/** Returns true if this browser has signed in here; whether the session still lives, the service tells. */
export function hasSession(): boolean {
  return localStorage.getItem(KEY) !== null
}

/** Calls `ended` whenever the service no longer takes the session. */
export function watchSession(ended: Ended): void {
  onEnded = ended
}

/** Returns true for a change of what the browser keeps by which another tab has signed in, or out. */
export function isSessionChange(change: Record<'key' | 'oldValue' | 'newValue', string | null>): boolean {
  return change.key === null || (change.key === KEY && change.oldValue !== change.newValue)
}

/** Returns the headers that make a request one of the session. */
export function sessionHeaders(): Record<string, string> {
  const key = localStorage.getItem(KEY)
  return key === null ? {} : { [HEADER]: key }
}

let reason: string | null = null

/** Keeps why the session has ended, for the page that is shown next: not in its address, where anybody could write one. */
export function keepReason(words: string | null): void {
  reason = words
}

/** Returns why the session has ended; null: it has not. */
export function reasonKept(): string | null {
  return reason
}

/** Sends a request of the session; forgets the session if the service does not take it. */
export async function sessionFetch(request: Request): Promise<Response> {
  const key = localStorage.getItem(KEY)
  for (const [name, value] of Object.entries(sessionHeaders())) request.headers.set(name, value)
  const response = await fetch(request)
  if (response.status === 401 && key !== null && key === localStorage.getItem(KEY)) {
    localStorage.removeItem(KEY)
    onEnded(await reasonOf(response.clone()))
  }
  return response
}

/** A credential that a session is begun with: a token, or the ticket of a sign-in link, good once. */
export type Credential = { token: string } | { ticket: string }

/** Begins a session. @throws ApiError for a credential that is not taken, ConnectionError */
export async function signIn(credential: Credential): Promise<void> {
  const headers =
    'token' in credential ? { authorization: `Bearer ${credential.token}` } : linkHeaders(credential.ticket)
  // With the session that this browser has still, which then ends.
  const response = await post('/v1/session', { ...sessionHeaders(), ...headers })
  const body = (await response.json()) as Record<string, unknown>
  if (!response.ok || typeof body['session'] !== 'string') throw toApiError(response.status, body)
  localStorage.setItem(KEY, body['session'])
  reason = null
}

/** What a sign-in link signs in with. */
export interface LinkFacts {
  token: { id: string; name: string; projects: '*' | readonly string[]; permissions: readonly string[] }
  /** End of the session that it would begin. */
  expires_at: string
}

/**
 * Reads what a sign-in link signs in with, and leaves both the link and the session of this browser as they are.
 * @throws ApiError for one that is used, over or of another service, ConnectionError
 */
export async function readLink(ticket: string): Promise<LinkFacts> {
  const response = await reach(() => fetch('/v1/session/links', { headers: linkHeaders(ticket), credentials: 'omit' }))
  if (!response.ok) throw await problemIn(response)
  return (await response.json()) as LinkFacts
}

/** Ends the session at the service, and then here. @throws ApiError, ConnectionError: it goes on */
export async function signOut(): Promise<void> {
  const response = await reach(() => sessionFetch(new Request('/v1/session', { method: 'DELETE' })))
  // One that the service does not take has ended already.
  if (!response.ok && response.status !== 401) throw await problemIn(response)
  forgetSession()
}

/** Forgets the session here; at the service it goes on until it is revoked or its time is over. */
export function forgetSession(): void {
  localStorage.removeItem(KEY)
}

/** Sends the ticket of a link where no proxy logs it. */
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
    throw new ConnectionError('The service cannot be reached.', { cause: error })
  }
}

/** Returns the error that an answer tells, whoever sent it. */
export async function problemIn(response: Response): Promise<ApiError> {
  return toApiError(response.status, await response.json().catch(() => null))
}

async function reasonOf(response: Response): Promise<string> {
  try {
    return toApiError(response.status, await response.json()).message
  } catch {
    return 'The session has ended.'
  }
}
