/** Looks up the route of requests that are well-formed and need no header changes, as most do. */
export function routeLookup({ routes, signInHost }: { routes: string; signInHost: string }): string[] {
  const ownHost = signInHost.replaceAll('.', '\\.')
  const rest = 'is_plain is_box_host !is_refused_method !has_session'
  return [
    `  acl is_plain req.hdr_names(:) -m reg ${PLAIN_NAMES}`,
    `  acl is_box_host req.fhdr(host) -m reg -i '^(?=.{1,${HOST_CHARACTERS}}$)(?!${ownHost}\\.?(:|$))${HOST}$'`,
    // HAProxy caches regex results per value, so these match a prefix that has few values.
    `  acl is_box_target url,bytes(0,${OWN_PATH.length}) -m reg '^/(?!${OWN_PATH.slice(1).replace('.', '[.]')})'`,
    `  acl is_box_path path,bytes(0,${OWN_PATH.length}) -m reg '^/(?!${OWN_PATH.slice(1).replace('.', '[.]')})'`,
    // HTTP/2 names a scheme. With another one the box would get it in the target.
    '  acl is_web_target url_beg / http:// https://',
    '  acl is_refused_method method CONNECT TRACE',
    `  acl has_session req.fhdr(cookie) -m sub ${SESSION_COOKIE}`,
    `  http-request set-var(txn.route) req.fhdr(host),lower,${HOST_NAME},map_str('${routes}') if is_box_target ${rest} or is_http2 is_web_target is_box_path ${rest}`,
  ]
}

/**
 * Skips all later rules for public hosts and granted bearer tokens. HAProxy reads the maps for every request. A connection caches the
 * digest of its last token, which costs half as much as the rest of HAProxy's work. One value holds both digest and token, so that a digest
 * is never used for another token.
 */
export function shortcut({ grants }: { grants: string }): string[] {
  const passIfGranted = [
    `  http-request set-var(txn.credential) var(sess.kept),bytes(0,${DIGEST_CHARACTERS}) if is_kept_bearer`,
    `  http-request set-var(txn.expiry) var(txn.credential),concat(@,txn.project),map_str_int('${grants}') if is_kept_bearer`,
    '  http-request allow if is_granted',
  ]
  return [
    '  acl is_public var(txn.route) -m end |public',
    '  acl is_granted date,neg,add(txn.expiry) gt 0',
    `  acl is_kept_bearer var(sess.kept),bytes(${DIGEST_CHARACTERS + 1}),strcmp(txn.bearer) eq 0`,
    `  acl is_short_bearer var(txn.bearer),length le ${BEARER_CHARACTERS_MAX}`,
    '  http-request allow if is_public',
    // Without a route there is no project, and therefore no grant.
    '  http-request set-var(txn.bearer) http_auth_bearer',
    '  http-request set-var(txn.project) var(txn.route),word(2,|)',
    ...passIfGranted,
    '  http-request set-var(sess.kept) var(txn.bearer),sha2(256),hex,lower,concat(:,txn.bearer) if !is_kept_bearer is_short_bearer',
    ...passIfGranted,
    ...['route', 'credential', 'expiry'].map((name) => `  http-request unset-var(txn.${name})`),
  ]
}

/** The session cookie. The cookie of a sign-in has this name with the suffix `-nonce`. */
export const SESSION_COOKIE = '__Host-boxyard'
const LABEL = '[a-z0-9]([a-z0-9-]*[a-z0-9])?'
/** Regular expression of a lower-case host, with or without port and trailing dot. */
export const HOST = `${LABEL}(\\.${LABEL})*\\.?(:[0-9]{1,5})?`
/** Converter that strips port and trailing dot. */
export const HOST_NAME = 'field(1,:),rtrim(.)'
/** Longest host, with port and trailing dot. */
export const HOST_CHARACTERS = 259
/** Prefix of the paths that the agent answers, at every host. */
export const OWN_PATH = '/.boxyard/'
/** Matches header names joined by colons, unless a single header occurs twice or a name needs a check or removal. */
const PLAIN_NAMES = `'^(?!.*(${[
  ...['_', 'authorization.*authorization', '(?<![^:])host:(.*:)?host(?![^:])'],
  '(?<![^:])(transfer-encoding|upgrade|http2-settings|x-real-ip|forwarded|x-forwarded(?!-(for|proto|host)(?![^:])))',
].join('|')}))'`
const DIGEST_CHARACTERS = 64
/** Limits the cache of a connection. Longer tokens take the rules after the shortcut. */
const BEARER_CHARACTERS_MAX = 4_096
