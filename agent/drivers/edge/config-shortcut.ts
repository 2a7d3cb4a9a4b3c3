/** The route of what is sound by its shape, and has nothing in it to cut or to pass on by hand: most requests are so. */
export function firstLook({ routes, signInHost }: { routes: string; signInHost: string }): string[] {
  const ownHost = signInHost.replaceAll('.', '\\.')
  const rest = 'is_plain is_box_host !is_refused_method !has_session'
  return [
    `  acl is_plain req.hdr_names(:) -m reg ${PLAIN_NAMES}`,
    `  acl is_box_host req.fhdr(host) -m reg -i '^(?=.{1,${HOST_CHARACTERS}}$)(?!${ownHost}\\.?(:|$))${HOST}$'`,
    // The pattern is looked up among those that were matched before: hence of what has few values.
    `  acl is_box_target url,bytes(0,${OWN_PATH.length}) -m reg '^/(?!${OWN_PATH.slice(1).replace('.', '[.]')})'`,
    `  acl is_box_path path,bytes(0,${OWN_PATH.length}) -m reg '^/(?!${OWN_PATH.slice(1).replace('.', '[.]')})'`,
    '  acl is_refused_method method CONNECT TRACE',
    '  acl is_http2 req.ver -m str 2.0',
    `  acl has_session req.fhdr(cookie) -m sub ${SESSION_COOKIE}`,
    `  http-request set-var(txn.route) req.fhdr(host),lower,${HOST_NAME},map_str('${routes}') if is_box_target ${rest} or is_http2 is_box_path ${rest}`,
  ]
}

/**
 * The way past all rules that follow, to a public host or for a bearer that is granted. The maps are asked each time. What
 * is kept of a connection is the digest of its last bearer, since to make one costs half as much as HAProxy alone: in one
 * value with that bearer, so that it is never taken for another's.
 */
export function shortcut({ grants }: { grants: string }): string[] {
  const passIfGranted = [
    `  http-request set-var(txn.expiry) var(sess.kept),bytes(0,${DIGEST_CHARACTERS}),concat(@,txn.project),map_str_int('${grants}') if is_kept_bearer`,
    '  http-request allow if is_granted',
  ]
  return [
    '  acl is_public var(txn.route) -m end |public',
    '  acl is_granted date,neg,add(txn.expiry) gt 0',
    `  acl is_kept_bearer var(sess.kept),bytes(${DIGEST_CHARACTERS + 1}),strcmp(txn.bearer) eq 0`,
    `  acl is_short_bearer var(txn.bearer),length le ${BEARER_CHARACTERS_MAX}`,
    '  http-request allow if is_public',
    // Without a route there is no project, and no grant is without one.
    '  http-request set-var(txn.bearer) http_auth_bearer',
    '  http-request set-var(txn.project) var(txn.route),word(2,|)',
    ...passIfGranted,
    '  http-request set-var(sess.kept) var(txn.bearer),sha2(256),hex,lower,concat(:,txn.bearer) if !is_kept_bearer is_short_bearer',
    ...passIfGranted,
    '  http-request unset-var(txn.route)',
    '  http-request unset-var(txn.expiry)',
  ]
}

/** The cookie that opens a host to a browser. */
export const SESSION_COOKIE = '__Host-boxyard'
const LABEL = '[a-z0-9]([a-z0-9-]*[a-z0-9])?'
/** A host in lower case, with or without port and trailing dot: a regular expression. */
export const HOST = `${LABEL}(\\.${LABEL})*\\.?(:[0-9]{1,5})?`
/** Makes the name of what is sound. */
export const HOST_NAME = 'field(1,:),rtrim(.)'
/** With port and trailing dot. */
export const HOST_CHARACTERS = 259
/** Of every host: what begins so is answered by the agent. */
export const OWN_PATH = '/.boxyard/'
/** Of names joined by colons: neither twice what may be there once, nor any that has to be looked at or taken out. */
const PLAIN_NAMES = `'^(?!.*(${[
  ...['_', 'authorization.*authorization', '(?<![^:])host:(.*:)?host(?![^:])'],
  '(?<![^:])(transfer-encoding|upgrade|http2-settings|x-real-ip|forwarded|x-forwarded(?!-(for|proto|host)(?![^:])))',
].join('|')}))'`
const DIGEST_CHARACTERS = 64
/** What a connection keeps is bounded; a longer one is decided by the rules after the shortcut. */
const BEARER_CHARACTERS_MAX = 4_096
