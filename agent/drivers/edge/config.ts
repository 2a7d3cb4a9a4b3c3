import type { EdgeLimits } from '../../ports/edge/edge.ts'
import { boxBackends, TO_BOXES, useTables } from './config-boxes.ts'
import {
  type CellSide,
  cellAdmission,
  cellBackends,
  cellBind,
  IS_LED,
  lead,
  leadOwn,
  quickLead,
  TO_CELLS,
} from './config-cells.ts'
import {
  type FrontProxySocket,
  forwardingRules,
  frontProxyBind,
  frontProxySections,
  sourceRules,
} from './config-front-proxy.ts'
import { connectionLimits, headBuffers, headLimit, questionLimits, requestLimits } from './config-limits.ts'
import { sessionRules } from './config-session.ts'
import { HOST, HOST_CHARACTERS, HOST_NAME, OWN_PATH, routeLookup, SESSION_COOKIE, shortcut } from './config-shortcut.ts'
import { type edgePaths, markOf } from './names.ts'
import { type EdgeRefusal, ownErrors, refusalRules } from './pages.ts'

/** Settings of an HAProxy configuration. */
export interface HaproxySettings {
  paths: ReturnType<typeof edgePaths>
  /** Address and port to listen on. */
  host: string
  port: number
  /** Socket for the proxy in front, used in place of that address. Null without one. */
  frontProxy: FrontProxySocket | null
  /** Null without a fleet. */
  cells: CellSide | null
  /** Host of the sign-in, which consists of a label and the deployment's domain. The edge never routes it to a box. */
  signInHost: string
  /** Public scheme. */
  scheme: 'http' | 'https'
  /** Directory of PEM files with its fingerprint. Null without TLS. */
  certificates: { directory: string; fingerprint: string } | null
  /** Prefixes of this deployment's tokens, of a-z, A-Z, 0-9, `-`, `_` and `.`. */
  tokenPrefixes: readonly string[]
  /** Addresses and networks of proxies whose `X-Forwarded-For` the edge trusts. */
  trustedProxies: readonly string[]
  limits: EdgeLimits
  /** Value of `EDGE_REFUSAL_HEADER`, which only the agent and the edge know. */
  refusalMark: string
  /** File of the Lua actions, with its fingerprint. */
  lua: { path: string; fingerprint: string }
}

/**
 * Renders the configuration of a generation. `mark`, which the admin socket reports, is equal for equal settings.
 * @throws Error for a setting that would break out of its quotes
 */
export function haproxyConfig(settings: HaproxySettings, generation: number): { text: string; mark: string } {
  const { paths, host, signInHost, certificates, tokenPrefixes, frontProxy, cells } = settings
  const files = [paths.directory, certificates?.directory ?? '', settings.lua.path, frontProxy?.socket ?? '']
  for (const path of [...files, cells?.tls?.authority ?? '']) expectText(path, PLAIN_PATH)
  for (const name of [host, signInHost, cells?.host ?? host]) expectText(name, PLAIN_NAME)
  expectText(settings.refusalMark, PLAIN_NAME)
  for (const prefix of tokenPrefixes) expectText(prefix, PLAIN_PREFIX)
  for (const network of settings.trustedProxies) expectText(network, PLAIN_NETWORK)
  if (tokenPrefixes.length === 0) throw new Error('the edge must know how tokens begin')
  const textWith = (mark: string, socket: string): string =>
    [
      ...[...globals(settings, mark, socket), ...defaults(), ...frontend(settings)],
      ...[...useTables(settings), ...boxBackends(settings), ...(cells ? cellBackends(cells) : [])],
      ...(frontProxy ? frontProxySections(frontProxy) : []),
    ].join('\n')
  const mark = markOf(
    textWith('', ''),
    settings.lua.fingerprint,
    settings.certificates?.fingerprint,
    ...(cells?.tls ? [cells.tls.fingerprint] : []),
  )
  return { text: `${textWith(mark, paths.admin(generation))}\n`, mark }
}

function globals({ paths, lua, scheme, limits }: HaproxySettings, mark: string, socket: string): string[] {
  return [
    'global',
    `  description ${mark}`,
    `  stats socket '${socket}' mode 600 level admin expose-fd listeners`,
    '  stats timeout 1h',
    `  chroot '${paths.jail}'`,
    '  user haproxy',
    '  group haproxy',
    `  maxconn ${limits.connections}`,
    '  no strict-limits',
    // Without this, a thread works for up to 200 connections that have sent much, such as frames without a request, before the next turn.
    `  tune.runqueue-depth ${TASKS_AT_ONCE}`,
    ...headBuffers(),
    // Without this, HAProxy would share a port with another program that uses it.
    '  noreuseport',
    '  ssl-default-bind-options ssl-min-ver TLSv1.2',
    // Makes browsers use HTTP/1.1 for WebSockets.
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
    `  timeout client ${CLIENT_SECONDS}s`,
    `  timeout server ${IDLE_SECONDS}s`,
    `  timeout tunnel ${IDLE_SECONDS}s`,
    `  timeout client-fin ${HALF_CLOSED_SECONDS}s`,
    `  timeout server-fin ${HALF_CLOSED_SECONDS}s`,
    '  option http-no-delay',
    // Without this, a request of a client that has gone would wait for its box, and count, for as long as the box does not answer.
    '  option abortonclose',
  ]
}

function frontend(settings: HaproxySettings): string[] {
  const { paths, host, port, signInHost, certificates, frontProxy, cells } = settings
  const address = host.includes(':') ? `ipv6@${host}` : host
  const encryption = certificates ? ` ssl crt '${certificates.directory}' alpn h2,http/1.1` : ''
  const sources = {
    ...settings,
    hasFrontProxy: frontProxy !== null,
    hasHttp2: certificates !== null,
    hasCells: cells !== null,
  }
  return [
    'frontend edge',
    frontProxy ? frontProxyBind(frontProxy) : `  bind ${address}:${port}${encryption}`,
    ...(cells ? [cellBind(cells), `  acl is_led ${IS_LED}`] : []),
    '  acl is_browser req.fhdr(accept) -m beg -i text/html',
    ...ownErrors(),
    ...connectionLimits(sources),
    ...(cells ? cellAdmission(cells) : []),
    ...sourceRules(sources),
    '  acl is_http2 req.ver -m str 2.0',
    ...requestLimits(sources),
    ...headLimit(),
    ...routeLookup({ routes: paths.routes, signInHost }),
    ...forwardingRules(settings),
    ...(cells ? quickLead(cells) : []),
    ...shortcut(paths),
    ...soundness(),
    ...(cells ? lead(cells, signInHost) : []),
    ...decision(settings),
    ...cleaning(),
    ...(cells ? TO_CELLS : []),
    '  use_backend agent if !is_found',
    ...TO_BOXES,
  ]
}

/** Refuses requests with an ambiguous host or length (request smuggling). */
function soundness(): string[] {
  return [
    ...refusalRules(
      { code: 'method_not_allowed', detail: 'CONNECT and TRACE are not supported, because this is not a proxy.' },
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
    ...refusalRules(NOT_SOUND, 'is_unsound'),
    '  http-request set-uri %[pathq] if !is_origin_form !is_http2',
    `  http-request set-var(txn.host) var(txn.authority),${HOST_NAME}`,
  ]
}

/** Decides by the maps, and queries the agent where they have no answer. */
function decision({ paths, signInHost, scheme, tokenPrefixes, limits, cells }: HaproxySettings): string[] {
  const credentialOf = { bearer: `http_auth_bearer,${DIGEST}`, cookie: `req.cook(${SESSION_COOKIE}),${DIGEST}` }
  const grantIn = (scope: string): string => `var(txn.credential),concat(@,${scope}),map_str_int('${paths.grants}')`
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
    '  http-request set-var(txn.project) var(txn.route),word(2,|) if is_token',
    `  http-request set-var(txn.credential) ${credentialOf.bearer} if is_token`,
    `  http-request set-var(txn.expiry) ${grantIn('txn.project')} if is_token`,
    '  http-request set-var(txn.by) str(bearer) if is_granted',
    // The agent must not look up a bearer token as a session.
    '  http-request unset-var(txn.credential) if !is_known',
    `  http-request set-var(txn.credential) ${credentialOf.cookie} if !is_known is_token`,
    `  http-request set-var(txn.expiry) ${grantIn('txn.host')} if !is_known is_token`,
    '  http-request set-var(txn.by) str(cookie) if !is_known is_granted',
    '  http-request set-var(txn.asks) bool(1) if is_own or !is_known !is_public',
    '  acl is_question var(txn.asks) -m found',
    ...questionLimits(limits, 'is_question'),
    '  http-request lua.boxyard_await if is_own',
    ...(cells ? leadOwn() : []),
    '  http-request lua.boxyard_ask if !is_known !is_public !is_own',
    ...(cells ? ['  http-request allow if is_away'] : []),
    ...refusalRules({ code: 'agent_unavailable', detail: 'The agent does not answer.' }, '!is_found !is_own'),
    // The agent reads the cookie only if there is no bearer.
    `  http-request set-var(txn.credential) ${credentialOf.cookie} if is_decided is_token !is_bearer`,
    `  http-request set-var(txn.credential) ${credentialOf.bearer} if is_decided is_token is_bearer`,
    '  http-request set-var(txn.by) str(bearer) if is_decided is_bearer',
    ...sessionRules({ scheme }),
  ]
}

/** Removes headers that only the edge may set, and the cookies of sessions and sign-ins, which boxes must not see. */
function cleaning(): string[] {
  const cut = (pattern: string, rest: string): string =>
    `  http-request replace-header cookie '${pattern}' '${rest}' if has_session is_found`
  const cookie = `\\s*${SESSION_COOKIE}(?:-nonce)?\\s*=[^;]*`
  const cuts = [cut(`^${cookie}(?:;\\s*(.*))?$`, '\\1'), cut(`^(.*?);${cookie}(;.*)?$`, '\\1\\2')]
  return [
    '  acl is_empty_cookie req.fhdr(cookie) -m len 0',
    ...cuts,
    ...cuts,
    `  acl is_session_left req.fhdr(cookie) -m reg (^|;)${cookie}`,
    ...refusalRules(NOT_SOUND, 'is_session_left is_found'),
    // An empty one beside others is harmless.
    '  http-request del-header cookie if is_empty_cookie { req.fhdr_cnt(cookie) eq 1 }',
    // Runs only for the few requests that have any, because matching all header names by regex is expensive.
    `  http-request del-header ${EDGE_HEADERS} -m reg if !is_plain`,
    '  http-request del-header upgrade if !is_socket',
    '  http-request set-header connection upgrade if is_socket',
    '  http-request set-header upgrade websocket if is_socket',
  ]
}

function expectText(text: string, pattern: RegExp): void {
  if (!pattern.test(text)) throw new Error(`${JSON.stringify(text)} cannot be a setting of the edge`)
}

const NOT_SOUND: EdgeRefusal = {
  code: 'invalid_request',
  detail: 'The request does not name one host and one path, or says in more than one way where it ends.',
}
const DIGEST = 'sha2(256),hex,lower'
const PLAIN_PATH = /^[^'\n\r\0]*$/
const PLAIN_NAME = /^[A-Za-z0-9.:_-]+$/
const PLAIN_PREFIX = /^[A-Za-z0-9._-]+$/
const PLAIN_NETWORK = /^[0-9A-Fa-f.:]+(\/\d{1,3})?$/
const UNSOUND = [
  ...[
    'is_other_count',
    '!is_host',
    'is_long_host',
    '!is_path',
    '!is_origin_form !is_http2 !is_authority',
    'is_http2 !is_web_target',
  ],
  ...['has_encoding !is_chunked', 'has_encoding is_http10'],
]
const EDGE_SET_NAMES = 'x-forwarded-(for|proto|host)$'
const EDGE_HEADERS = `'^(?!${EDGE_SET_NAMES})(x[-_]forwarded([-_].*)?|forwarded|x[-_]real[-_]ip|http2-settings|content_length|transfer_encoding)$'`

/** Connections and requests of a turn of a thread. HAProxy's default is 200. */
const TASKS_AT_ONCE = 20
/** Timeout of connecting to a box. */
const CONNECT_SECONDS = 3
/** Timeout of receiving the head of a request. */
const HEAD_SECONDS = 15
/** Timeout between requests on a connection. */
const KEEP_ALIVE_SECONDS = 75
/** Timeout of a TLS handshake, and of a client that reads nothing of an answer. It does not limit the wait for an answer. */
const CLIENT_SECONDS = 120
/** Inactivity timeout of requests, responses, event streams and WebSockets. */
const IDLE_SECONDS = 3_600
const HALF_CLOSED_SECONDS = 60
