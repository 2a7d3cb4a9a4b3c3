import { escapeHtml, pageOf } from '../../../shared/http/page.ts'

/** The form that asks for a token for `host`. */
export interface SignInForm {
  host: string
  target: string
  nonceDigest: string
  /** Why the token before was not taken. */
  fault: string | null
}

/** The page that asks for a token. What it is told is shown as text, whatever it holds. */
export function signInPage({ host, target, nonceDigest, fault }: SignInForm): string {
  const alert = fault === null ? '' : `<p role="alert" id="fault">${escapeHtml(fault)}</p>\n`
  const described = fault === null ? '' : ' aria-describedby="fault" aria-invalid="true"'
  const main = `<p>An access token opens <strong>${escapeHtml(host)}</strong>.</p>
${alert}<form method="post" action="/">
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

/** The page that asks whether a session is to end: for whoever was led there by a page of somebody else. */
export function signOutPage(): string {
  const main = `<p>This ends your session at this address.</p>
<form method="post" action="/.boxyard/sign-out"><button type="submit">Sign out</button></form>`
  return pageOf({ title: 'Sign out', main })
}

/** The page that leads on to `target`, a path of the same host, by itself. */
export function onwardPage(target: string): string {
  const path = escapeHtml(target)
  const head = `<meta http-equiv="refresh" content="0; url=${path}">`
  return pageOf({ title: 'Signed in', main: `<p><a href="${path}">Continue</a></p>`, head })
}

/** A page that says one thing; `link` leads on, a path or an origin of ours. */
export function messagePage(
  title: string,
  { text, link, small }: { text: string; link?: { href: string; label: string } | undefined; small?: string },
): string {
  const onward = link === undefined ? '' : `\n<p><a href="${escapeHtml(link.href)}">${escapeHtml(link.label)}</a></p>`
  const foot = small === undefined ? '' : `\n<p class="small">${escapeHtml(small)}</p>`
  return pageOf({ title, main: `<p>${escapeHtml(text)}</p>${onward}${foot}` })
}
