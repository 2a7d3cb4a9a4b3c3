import { createHash } from 'node:crypto'

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
  return page(
    'Sign in',
    `<p>An access token opens <strong>${escapeHtml(host)}</strong>.</p>
${alert}<form method="post" action="/">
<input type="hidden" name="host" value="${escapeHtml(host)}">
<input type="hidden" name="target" value="${escapeHtml(target)}">
<input type="hidden" name="nonce" value="${escapeHtml(nonceDigest)}">
<label for="token">Access token</label>
<input id="token" name="token" type="password" required autofocus autocomplete="off" spellcheck="false"${described}>
<button type="submit">Sign in</button>
</form>
<p class="small">The token needs the permission “read” in the project of this address. It is not passed on to the box.</p>`,
  )
}

/** The page that asks whether a session is to end: for whoever was led there by a page of somebody else. */
export function signOutPage(): string {
  return page(
    'Sign out',
    `<p>This ends your session at this address.</p>
<form method="post" action="/.boxyard/sign-out"><button type="submit">Sign out</button></form>`,
  )
}

/** The page that leads on to `target`, a path of the same host, by itself. */
export function onwardPage(target: string): string {
  const path = escapeHtml(target)
  const refresh = `<meta http-equiv="refresh" content="0; url=${path}">\n`
  return page('Signed in', `<p><a href="${path}">Continue</a></p>`, refresh)
}

/** A page that says one thing; `link` leads on, a path or an origin of ours. */
export function messagePage(
  title: string,
  { text, link, small }: { text: string; link?: { href: string; label: string } | undefined; small?: string },
): string {
  const onward = link === undefined ? '' : `\n<p><a href="${escapeHtml(link.href)}">${escapeHtml(link.label)}</a></p>`
  const foot = small === undefined ? '' : `\n<p class="small">${escapeHtml(small)}</p>`
  return page(title, `<p>${escapeHtml(text)}</p>${onward}${foot}`)
}

/** The headers of a page: it loads nothing, runs nothing, is shown in no frame, is kept nowhere, and tells nobody its address. */
export function pageHeaders(formsTo: readonly string[] = []): Record<string, string> {
  const style = createHash('sha256').update(STYLE).digest('base64')
  const forms = formsTo.length === 0 ? "'none'" : formsTo.join(' ')
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${style}'`,
    `form-action ${forms}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    ...PRIVATE_HEADERS,
  }
}

function page(title: string, main: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${head}<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${main}
</main>
</body>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '')
}

/** Of every answer of ours at the edge: kept nowhere, and its address is told to nobody. */
export const PRIVATE_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const STYLE = `:root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}
main{max-width:28rem;margin:15vh auto 0;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.5rem}
label,input,button{display:block;width:100%;box-sizing:border-box;font:inherit}
input,button{padding:.5rem;margin:.25rem 0 1rem}
.small{font-size:.875rem;opacity:.75}
[role=alert]{border-left:.25rem solid #c33;padding-left:.75rem}`
