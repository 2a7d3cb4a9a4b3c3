import { SESSION_COOKIE } from './config-shortcut.ts'
import { type EdgeRefusal, refusalRules } from './pages.ts'

/**
 * Marks requests that a session admits in `txn.session` (`page`, `page-untold` of an old browser, `part`). Refuses requests that a page of
 * another host may have caused, as `isFromOwnPage` of the gate does. Needs `txn.authority`, and earlier rules that decide.
 */
export function sessionRules({ scheme }: { scheme: 'http' | 'https' }): string[] {
  return [
    '  acl is_safe method GET HEAD OPTIONS',
    '  acl is_socket req.hdr(upgrade) -m str -i websocket',
    '  acl is_by_session var(txn.session) -m found',
    '  acl is_same_origin req.fhdr(origin),lower,strcmp(txn.origin) eq 0',
    // The scheme, an empty part and the authority of the URL.
    '  acl is_own_referer req.fhdr(referer),lower,field(1,/,3),strcmp(txn.origin) eq 0',
    '  acl has_origin req.fhdr(origin) -m found',
    '  acl has_site req.fhdr(sec-fetch-site) -m found',
    '  acl is_own_site req.fhdr(sec-fetch-site) -m str same-origin none',
    '  acl is_navigation req.fhdr(sec-fetch-mode) -m str navigate',
    '  acl is_document req.fhdr(sec-fetch-dest) -m str document',
    ...SINGLE_HEADERS.map((name) => `  acl is_told_twice req.fhdr_cnt(${name}) gt 1`),
    '  http-request set-var(txn.session) str(part) if !is_known_bearer is_token',
    '  http-request set-var(txn.session) str(page) if is_by_session has_site is_navigation',
    '  http-request set-var(txn.session) str(page-untold) if is_by_session !has_site is_browser',
    `  http-request set-var-fmt(txn.origin) ${scheme}://%[var(txn.authority)] if is_by_session`,
    `  http-request set-var(txn.foreign) bool(1) if ${FOREIGN.map((rest) => `is_by_session ${rest}`).join(' or ')}`,
    '  acl is_foreign var(txn.foreign) -m found',
    ...refusalRules(OTHER_ORIGIN, 'is_foreign'),
  ]
}

/**
 * Hides answers to a session's requests from other pages, and from the time after the session. All hosts of a site share a browser's cache.
 * *Back* reads a page's own answers again after the session has ended. A page that opens another in a window could follow it.
 */
export function sessionAnswerRules(): string[] {
  const [any, page, told, part] = ['-m found', '-m beg page', '-m str page', '-m str part'].map(
    (match) => `if { var(txn.session) ${match} }`,
  )
  const opener = 'cross-origin-opener-policy'
  return [
    `  http-response set-header cross-origin-resource-policy same-origin ${any}`,
    `  http-response set-header cache-control no-store ${page}`,
    `  http-response add-header cache-control private ${part}`,
    `  http-response add-header vary sec-fetch-site ${part}`,
    // Chromium keeps pages for *Back* in memory, even with `no-store`, but only with status 200.
    `  http-response set-status 203 ${told} { status 200 }`,
    `  http-response set-header ${opener} same-origin-allow-popups ${page} !{ res.fhdr(${opener}) -m found }`,
  ]
}

/**
 * Removes the parts of a box's cookies that reach beyond its host. These are a `Domain` at or above `domain`, a `Domain` that a browser
 * might read as one, and cookies of the edge. With two `Domain`s browsers use the last, so the rules drop such a cookie.
 */
export function cookieRules(domain: string): string[] {
  const own = domain.split('.').reduce((above, label) => (above === '' ? label : `(?:${above}\\.)?${label}`), '')
  const end = '\\s*(?:;|$)'
  const attribute = ';\\s*domain\\s*='
  const dropped = `(?i)^(?:[\\s=]*${SESSION_COOKIE}|.*${attribute}.*${attribute}).*$`
  const wide = `(?i)^(.*?)${attribute}(?!(?!\\s*\\.*${own}\\.*${end})\\s*[a-z0-9.-]+${end})[^;]*(;.*)?$`
  return [
    `  http-response replace-header set-cookie '${dropped}' 'refused=; Max-Age=0'`,
    `  http-response replace-header set-cookie '${wide}' '\\1\\2'`,
  ]
}

const SINGLE_HEADERS = ['origin', 'referer', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest']
/** Conditions under which a request is not from an own page. Browsers before 2023 send no `Sec-Fetch-Site`. */
const FOREIGN = [
  'is_told_twice',
  '!is_safe !is_same_origin',
  'is_socket !is_same_origin',
  ...['!is_safe', 'is_socket', '!is_navigation', '!is_document'].map((rest) => `has_site !is_own_site ${rest}`),
  '!has_site has_origin !is_same_origin',
  '!has_site !has_origin !is_own_referer !is_browser',
]
const OTHER_ORIGIN: EdgeRefusal = {
  code: 'permission_denied',
  detail: 'A page of another origin cannot do this in your session.',
  wayOut: 'Open the address itself and do it there, or send a token.',
}
