import { ERROR_STATUSES } from '../../../shared/errors.ts'
import {
  type FrontProxySocket,
  forwardingRules,
  frontProxyBind,
  frontProxySections,
  sourceRules,
} from './config-front-proxy.ts'
import { firstLook, HOST, HOST_CHARACTERS, HOST_NAME, OWN_PATH, SESSION_COOKIE, shortcut } from './config-shortcut.ts'
import { type edgePaths, markOf } from './names.ts'
import { type EdgeRefusal, pageAnswer, problemAnswer } from './pages.ts'

/** What the configuration of one HAProxy follows from. */
export interface HaproxySettings {
  paths: ReturnType<typeof edgePaths>
  /** Address and port to listen on. */
  host: string
  port: number
  /** Where it listens in place of that, for what stands in front of it; null: nothing does. */
  door: FrontProxySocket | null
  /** The host that never serves what a box says. */
  signInHost: string
  /** What browsers say before `://`. */
  scheme: 'http' | 'https'
  /** The directory of PEM files, and what tells one state of it from another; null: no encryption. */
  certificates: { directory: string; fingerprint: string } | null
  /** How tokens of this deployment begin; of a-z, A-Z, 0-9, `-`, `_` and `.`. */
  tokenPrefixes: readonly string[]
  /** Addresses and networks of who is believed when it says for whom it asks. */
  trustedProxies: readonly string[]
  /** The Lua action, and what tells one text of it from another. */
  lua: { path: string; fingerprint: string }
}

/**
 * The text for the process of a generation; `mark`, which its admin socket tells, is the same for the same settings.
 * @throws Error for a setting that would be read as something else
 */
export function haproxyConfig(settings: HaproxySettings, generation: number): { text: string; mark: string } {
  const { paths, host, signInHost, certificates, tokenPrefixes, door } = settings
  const files = [paths.directory, certificates?.directory ?? '', settings.lua.path, door?.socket ?? '']
  for (const path of files) expectText(path, PLAIN_PATH)
  for (const name of [host, signInHost]) expectText(name, PLAIN_NAME)
  for (const prefix of tokenPrefixes) expectText(prefix, PLAIN_PREFIX)
  for (const network of settings.trustedProxies) expectText(network, PLAIN_NETWORK)
  if (tokenPrefixes.length === 0) throw new Error('the edge must know how tokens begin')
  const textWith = (mark: string, socket: string): string =>
    [
      ...[...globals(settings, mark, socket), ...defaults(), ...frontend(settings), ...tables(), ...backends(settings)],
      ...(door ? frontProxySections(door) : []),
    ].join('\n')
  const mark = markOf(textWith('', ''), settings.lua.fingerprint, settings.certificates?.fingerprint)
  return { text: `${textWith(mark, paths.admin(generation))}\n`, mark }
}

function globals({ paths, lua, scheme }: HaproxySettings, mark: string, socket: string): string[] {
  return [
    'global',
    `  description ${mark}`,
    `  stats socket '${socket}' mode 600 level admin expose-fd listeners`,
    '  stats timeout 1h',
    `  chroot '${paths.jail}'`,
    '  user haproxy',
    '  group haproxy',
    `  maxconn ${CONNECTIONS_MAX}`,
    '  no strict-limits',
    // Else a port that another program has would be shared with it.
    '  noreuseport',
    '  ssl-default-bind-options ssl-min-ver TLSv1.2',
    // Browsers take HTTP/1.1 for their WebSockets.
    '  h2-workaround-bogus-websocket-clients',
    `  set-var proc.scheme str(${scheme})`,
    `  lua-load '${lua.path}'`,
  ]
}

function defaults(): string[] {
  return [
    'defaults',
    '  mode http',
    `  timeout connect ${CONNECT_SECONDS}s`,
    `  timeout http-request ${HEAD_SECONDS}s`,
    `  timeout http-keep-alive ${KEEP_ALIVE_SECONDS}s`,
    `  timeout client ${IDLE_SECONDS}s`,
    `  timeout server ${IDLE_SECONDS}s`,
    `  timeout tunnel ${IDLE_SECONDS}s`,
    `  timeout client-fin ${HALF_CLOSED_SECONDS}s`,
    `  timeout server-fin ${HALF_CLOSED_SECONDS}s`,
    '  option http-no-delay',
  ]
}

function frontend(settings: HaproxySettings): string[] {
  const { paths, host, port, signInHost, certificates, door } = settings
  const address = host.includes(':') ? `ipv6@${host}` : host
  const encryption = certificates ? ` ssl crt '${certificates.directory}' alpn h2,http/1.1` : ''
  return [
    'frontend edge',
    door ? frontProxyBind(door) : `  bind ${address}:${port}${encryption}`,
    '  acl is_browser req.fhdr(accept) -m beg -i text/html',
    ...sourceRules(settings),
    ...firstLook({ routes: paths.routes, signInHost }),
    ...forwardingRules(settings),
    ...shortcut(paths),
    ...soundness(),
    ...decision(settings),
    ...cleaning(),
    '  use_backend agent if !is_found',
    '  use_backend boxes_page if is_browser',
    '  default_backend boxes',
  ]
}

/** One host, said in one way, and no more than one way to read where the request ends. */
function soundness(): string[] {
  return [
    ...refuse(
      { code: 'method_not_allowed', detail: 'CONNECT and TRACE are not taken: this is no proxy.' },
      'is_refused_method',
    ),
    '  acl is_other_count req.fhdr_cnt(host) eq 0',
    '  acl is_other_count req.fhdr_cnt(host) gt 1',
    '  acl is_other_count req.fhdr_cnt(authorization) gt 1',
    '  acl is_other_count req.fhdr_cnt(transfer-encoding) gt 1',
    `  acl is_host req.fhdr(host) -m reg -i '^${HOST}$'`,
    `  acl is_long_host req.fhdr(host),length gt ${HOST_CHARACTERS}`,
    '  http-request set-var(txn.authority) req.fhdr(host),lower',
    '  acl is_authority url,field(3,/),lower,strcmp(txn.authority) eq 0',
    '  acl is_path path_beg /',
    '  acl is_origin_form url_beg /',
    '  acl has_encoding req.fhdr(transfer-encoding) -m found',
    '  acl is_chunked req.fhdr(transfer-encoding) -m str -i chunked',
    '  acl is_http10 req.ver -m str 1.0',
    `  http-request set-var(txn.fault) bool(1) if ${UNSOUND.join(' or ')}`,
    '  acl is_unsound var(txn.fault) -m found',
    ...refuse(NOT_SOUND, 'is_unsound'),
    '  http-request set-uri %[pathq] if !is_origin_form !is_http2',
    `  http-request set-var(txn.host) var(txn.authority),${HOST_NAME}`,
  ]
}

/** Where it goes: by the maps alone where they know, else as the agent says. */
function decision({ paths, signInHost, scheme, tokenPrefixes }: HaproxySettings): string[] {
  const grant = `sha2(256),hex,lower,concat(@,%),map_str_int('${paths.grants}')`
  return [
    `  acl is_own var(txn.host) -m str ${signInHost}`,
    `  acl is_own path_beg ${OWN_PATH}`,
    `  http-request set-var(txn.route) var(txn.host),map_str('${paths.routes}') if !is_own`,
    '  acl is_found var(txn.route) -m found',
    '  acl is_token var(txn.route) -m end |token',
    '  acl is_known var(txn.by) -m found',
    '  acl is_known_bearer var(txn.by) -m str bearer',
    '  acl is_decided var(txn.by) -m str gate',
    `  acl is_bearer http_auth_bearer -m beg ${tokenPrefixes.join(' ')}`,
    '  acl is_safe method GET HEAD OPTIONS',
    '  acl is_socket req.hdr(upgrade) -m str -i websocket',
    '  acl is_same_origin req.fhdr(origin),lower,strcmp(txn.origin) eq 0',
    '  http-request set-var(txn.project) var(txn.route),word(2,|) if is_token',
    `  http-request set-var(txn.expiry) http_auth_bearer,${grant.replace('%', 'txn.project')} if is_token`,
    '  http-request set-var(txn.by) str(bearer) if is_granted',
    `  http-request set-var(txn.expiry) req.cook(${SESSION_COOKIE}),${grant.replace('%', 'txn.host')} if !is_known is_token`,
    '  http-request set-var(txn.by) str(cookie) if !is_known is_granted',
    '  http-request lua.boxyard_await if is_own',
    '  http-request lua.boxyard_ask if !is_known !is_public !is_own',
    ...refuse({ code: 'agent_unavailable', detail: 'The agent does not answer.' }, '!is_found !is_own'),
    // The agent looks at the cookie only where there is no bearer.
    '  http-request set-var(txn.by) str(bearer) if is_decided is_bearer',
    `  http-request set-var-fmt(txn.origin) ${scheme}://%[var(txn.authority)] if !is_known_bearer is_token`,
    ...refuse(OTHER_ORIGIN, '!is_safe !is_known_bearer is_token !is_same_origin'),
    ...refuse(OTHER_ORIGIN, 'is_socket !is_known_bearer is_token !is_same_origin'),
  ]
}

/** What else nobody but us may say, and what nobody but us may hear. */
function cleaning(): string[] {
  const cut = (pattern: string, rest: string): string =>
    `  http-request replace-header cookie '${pattern}' '${rest}' if has_session is_found`
  const cookie = `\\s*${SESSION_COOKIE}\\s*=[^;]*`
  const cuts = [cut(`^${cookie}(?:;\\s*(.*))?$`, '\\1'), cut(`^(.*?)\\s*;${cookie}(;.*)?$`, '\\1\\2')]
  return [
    '  acl is_empty_cookie req.fhdr(cookie) -m len 0',
    ...cuts,
    ...cuts,
    `  acl is_session_left req.fhdr(cookie) -m reg (^|;)${cookie}`,
    ...refuse(NOT_SOUND, 'is_session_left is_found'),
    // Among others an empty one says nothing.
    '  http-request del-header cookie if is_empty_cookie { req.fhdr_cnt(cookie) eq 1 }',
    // Few requests have any, and to look through all headers by a pattern costs much.
    `  http-request del-header ${OUR_HEADERS} -m reg if !is_plain`,
    '  http-request del-header upgrade if !is_socket',
    '  http-request set-header connection upgrade if is_socket',
    '  http-request set-header upgrade websocket if is_socket',
  ]
}

// A request counts, and a stream is open, until its stream ends.
function tables(): string[] {
  return ['backend boxes_use', '  stick-table type string len 160 size 20k store conn_cur,http_req_cnt']
}

function backends({ tokenPrefixes }: HaproxySettings): string[] {
  const boxBackend = (name: string, answerOf: (refusal: EdgeRefusal) => string): string[] => [
    `backend ${name}`,
    ...delivery(tokenPrefixes),
    ...answering(answerOf),
  ]
  return [...boxBackend('boxes', problemAnswer), ...boxBackend('boxes_page', pageAnswer), ...agentBackend()]
}

/** To the box of `txn.route`, without what opens others. */
function delivery(tokenPrefixes: readonly string[]): string[] {
  return [
    // To try again means to keep a copy of each request: a third of what one costs here.
    '  retries 0',
    '  http-request set-dst var(txn.route),word(1,:)',
    '  http-request set-dst-port var(txn.route),word(2,:/)',
    '  http-request track-sc0 var(txn.route),word(1,|) table boxes_use',
    `  http-request del-header authorization if { req.fhdr(authorization) -m sub ${tokenPrefixes.join(' ')} }`,
    // Before the box closes what is kept alive, under a request perhaps.
    '  server box 0.0.0.0:0 pool-purge-delay 2s',
  ]
}

/** What a box says, or what is said for one that says nothing. */
function answering(answerOf: (refusal: EdgeRefusal) => string): string[] {
  const { code, detail } = UNREACHABLE
  const answer = answerOf({ code, detail })
  return [
    '  http-response set-var(txn.answered) bool(1) if { status 503:504 }',
    `  http-response replace-header set-cookie '(?i)^[\\s=]*${SESSION_COOKIE}.*$' 'refused=; Max-Age=0'`,
    ...[502, 503, 504].map((status) => `  http-error status ${status} ${answer}`),
    `  http-after-response set-status ${ERROR_STATUSES.get(code)} if { status 503:504 } !{ var(txn.answered) -m found }`,
  ]
}

function agentBackend(): string[] {
  const answer = problemAnswer({ code: 'agent_unavailable', detail: 'The agent does not answer.' })
  return [
    'backend agent',
    ...[502, 503, 504].map((status) => `  http-error status ${status} ${answer}`),
    '  server agent unix@/pages.sock',
  ]
}

function expectText(text: string, pattern: RegExp): void {
  if (!pattern.test(text)) throw new Error(`${JSON.stringify(text)} cannot be a setting of the edge`)
}

function refuse(refusal: EdgeRefusal, condition: string): string[] {
  const status = ERROR_STATUSES.get(refusal.code)
  return [
    `  http-request return status ${status} ${pageAnswer(refusal)} if is_browser ${condition}`,
    `  http-request return status ${status} ${problemAnswer(refusal)} if ${condition}`,
  ]
}

const NOT_SOUND: EdgeRefusal = {
  code: 'invalid_request',
  detail: 'The request does not name one host and one path, or says in more than one way where it ends.',
}
const OTHER_ORIGIN: EdgeRefusal = {
  code: 'permission_denied',
  detail: 'A page of another origin may not do this in your name.',
}
const UNREACHABLE: EdgeRefusal = {
  code: 'port_unreachable',
  detail: 'Nothing answers on port %[var(txn.route),word(2,:/)] of this box.',
}
const PLAIN_PATH = /^[^'\n\r\0]*$/
const PLAIN_NAME = /^[A-Za-z0-9.:_-]+$/
const PLAIN_PREFIX = /^[A-Za-z0-9._-]+$/
const PLAIN_NETWORK = /^[0-9A-Fa-f.:]+(\/\d{1,3})?$/
const UNSOUND = [
  ...['is_other_count', '!is_host', 'is_long_host', '!is_path', '!is_origin_form !is_http2 !is_authority'],
  ...['has_encoding !is_chunked', 'has_encoding is_http10'],
]
const OURS_SET = 'x-forwarded-(for|proto|host)$'
const OUR_HEADERS = `'^(?!${OURS_SET})(x[-_]forwarded([-_].*)?|forwarded|x[-_]real[-_]ip|http2-settings|content_length|transfer_encoding)$'`

/** Half of them are streams at rest; the rest is turned away until others have gone. */
const CONNECTIONS_MAX = 8_000
/** To a box. */
const CONNECT_SECONDS = 3
/** For the whole head of a request to arrive. */
const HEAD_SECONDS = 15
/** Between two requests on one connection. */
const KEEP_ALIVE_SECONDS = 75
/** Within a request, an answer, an event stream or a WebSocket: nothing else ends one. */
const IDLE_SECONDS = 3_600
const HALF_CLOSED_SECONDS = 60
