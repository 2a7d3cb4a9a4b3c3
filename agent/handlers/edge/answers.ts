import { asServiceError, problemOf } from '../../../shared/errors.ts'
import { problemResponse } from '../../../shared/http/messages.ts'
import { escapeHtml, PRIVATE_HEADERS, pageHeaders, pageOf, prefersPage } from '../../../shared/http/page.ts'
import { sessionCookie } from './request.ts'

/** An answer that the edge gives itself, in place of a box. */
export interface EdgeAnswer {
  status: number
  headers: Record<string, string | string[]>
  body: string
}

/** The request that an answer's form depends on. */
export interface AnswerContext {
  method: string
  accept: string | undefined
  requestId: string
}

/** Turns any thrown value into a problem (RFC 9457) for programs, or a page of the same status for browsers. */
export function edgeAnswerOf(error: unknown, { method, accept, requestId }: AnswerContext): EdgeAnswer {
  const problem = problemOf(asServiceError(error), requestId, '/.boxyard/problems')
  const { status, headers } = problemResponse(error, requestId)
  const plain = { ...(headers as Record<string, string>), ...PRIVATE_HEADERS, vary: 'accept' }
  if (!prefersPage(accept)) return bodyFor(method, { status, headers: plain, body: JSON.stringify(problem) })
  const small = `${problem.code} · ${requestId}`
  const body = messagePage(problem.title, { text: problem.detail, small })
  return bodyFor(method, { status, headers: { ...plain, ...pageHeaders() }, body })
}

/** Redirects a browser to another page of the edge. */
export function redirectTo(location: string, headers: Record<string, string> = {}): EdgeAnswer {
  return { status: 302, headers: { location, ...headers, ...PRIVATE_HEADERS }, body: '' }
}

/**
 * Makes a browser forget the cookie of an ended session, and the pages that it keeps for *Back* and in its cache. It would not request
 * those pages again.
 */
export function withoutSession<Answer extends Pick<EdgeAnswer, 'headers'>>(answer: Answer): Answer {
  const cookies = [answer.headers['set-cookie'] ?? []].flat()
  const headers = { 'clear-site-data': '"cache"', 'set-cookie': [...cookies, sessionCookie('', 0)] }
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

function bodyFor(method: string, answer: EdgeAnswer): EdgeAnswer {
  return method === 'HEAD' ? { ...answer, body: '' } : answer
}

/** The form to enter a token for `host`. */
export interface SignInForm {
  host: string
  target: string
  nonceDigest: string
  /** Why the token entered before was refused. Null at first. */
  fault: string | null
}

/** Renders the form for a token. All values are escaped. It is sent with the host in its address, by which an edge leads it to the owner. */
export function signInPage({ host, target, nonceDigest, fault }: SignInForm): string {
  const alert = fault === null ? '' : `<p role="alert" id="fault">${escapeHtml(fault)}</p>\n`
  const described = fault === null ? '' : ' aria-describedby="fault" aria-invalid="true"'
  const main = `<p>An access token opens <strong>${escapeHtml(host)}</strong>.</p>
${alert}<form method="post" action="${escapeHtml(`/?${new URLSearchParams({ host }).toString()}`)}">
<input type="hidden" name="host" value="${escapeHtml(host)}">
<input type="hidden" name="target" value="${escapeHtml(target)}">
<input type="hidden" name="nonce" value="${escapeHtml(nonceDigest)}">
<label for="token">Access token</label>
<input id="token" name="token" type="password" required autofocus autocomplete="off" spellcheck="false"${described}>
<button type="submit">Sign in</button>
</form>
<p class="small">The token needs the permission “read” in the project of this address. It is not passed on to the box.</p>`
  return pageOf({ title: 'Sign in', main })
}

/** Renders a confirmation of sign-out, for requests that another site's page caused. */
export function signOutPage(): string {
  const main = `<p>This ends your session at this address.</p>
<form method="post" action="/.boxyard/sign-out"><button type="submit">Sign out</button></form>`
  return pageOf({ title: 'Sign out', main })
}

/** Renders a page that redirects automatically to `target`, a path of the same host. */
export function onwardPage(target: string): string {
  const path = escapeHtml(target)
  const head = `<meta http-equiv="refresh" content="0; url=${path}">`
  return pageOf({ title: 'Signed in', main: `<p><a href="${path}">Continue</a></p>`, head })
}

/** Renders a page with one message and optionally a link, to a path or an origin of this deployment. */
export function messagePage(
  title: string,
  { text, link, small }: { text: string; link?: { href: string; label: string } | undefined; small?: string },
): string {
  const onward = link === undefined ? '' : `\n<p><a href="${escapeHtml(link.href)}">${escapeHtml(link.label)}</a></p>`
  const foot = small === undefined ? '' : `\n<p class="small">${escapeHtml(small)}</p>`
  return pageOf({ title, main: `<p>${escapeHtml(text)}</p>${onward}${foot}` })
}
