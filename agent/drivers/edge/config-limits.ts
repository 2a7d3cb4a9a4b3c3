import { ERROR_STATUSES } from '../../../shared/errors.ts'
import type { EdgeLimits } from '../../ports/edge/edge.ts'
import { IS_LED } from './config-cells.ts'
import { type EdgeRefusal, refusalRules } from './pages.ts'

/** Time over which rates are taken. */
const PERIOD_SECONDS = 10

/** The settings that describe where requests come from. */
export interface RequestSources {
  limits: EdgeLimits
  /** Addresses and networks of proxies, whose connections carry requests of many clients. */
  trustedProxies: readonly string[]
  /** Whether all connections come from the proxy in front. */
  hasFrontProxy: boolean
  /** Whether HTTP/2 is spoken. */
  hasHttp2: boolean
  /** Whether edges of other cells route requests here (`is_led`). Their connections carry requests of many clients. */
  hasCells: boolean
}

/** The tables of clients, IPv4 addresses and /64 networks of IPv6, with room for more than have connections. */
export function clientTables({ connections }: EdgeLimits): string[] {
  const table = (name: string, stored: string): string[] => [
    `backend ${name}`,
    `  stick-table type ipv6 size ${Math.max(20_000, 4 * connections)} expire 60s store ${stored}`,
  ]
  return [
    ...table(
      'edge_clients',
      `conn_cur,conn_rate(${PERIOD_SECONDS}s),gpc0,gpc0_rate(${PERIOD_SECONDS}s),gpc1,gpc1_rate(${PERIOD_SECONDS}s)`,
    ),
    ...table('edge_requests', 'conn_cur'),
  ]
}

/**
 * Closes new connections of a client that has more open ones than others leave free, or opens too many a second. Leaves connections of
 * proxies to `requestLimits`.
 */
export function connectionLimits({ limits, trustedProxies, hasFrontProxy, hasCells }: RequestSources): string[] {
  if (hasFrontProxy) return []
  const proxies = trustedProxies.length === 0 ? [] : [`!{ src -m ip ${trustedProxies.join(' ')} }`]
  const conditions = [...proxies, ...(hasCells ? ['!is_led'] : [])]
  const direct = conditions.length === 0 ? '' : ` if ${conditions.join(' ')}`
  return [
    `  tcp-request connection track-sc1 ${CLIENT} table edge_clients${direct}`,
    // A client may hold as much as is left free: alone half, beside n others who want the same a share of n + 2.
    '  tcp-request connection set-var(sess.open) fe_conn',
    `  tcp-request connection reject if { sc_conn_cur(1),add(sess.open) gt ${limits.connections} }`,
    `  tcp-request connection reject if { sc_conn_rate(1) gt ${limits.connectionsPerSecond * PERIOD_SECONDS} }`,
  ]
}

/**
 * Refuses requests of a client that has more open ones than others leave free. Applies where clients share connections, which is HTTP/2 and
 * requests through proxies. Needs the client's `src`.
 */
export function requestLimits(sources: RequestSources): string[] {
  const { limits, trustedProxies, hasFrontProxy, hasHttp2, hasCells } = sources
  const isProxied = trustedProxies.length > 0 || hasFrontProxy || hasCells
  // Rules cost something for each request.
  if (!isProxied && !hasHttp2) return []
  return [
    ...(isProxied
      ? [...proxiedSources(sources), `  http-request track-sc1 ${CLIENT} table edge_clients if is_proxied`]
      : []),
    `  http-request set-var(txn.shares) bool(1) if ${isProxied ? 'is_proxied or ' : ''}is_http2`,
    '  acl is_sharing var(txn.shares) -m found',
    `  http-request track-sc2 ${CLIENT} table edge_requests if is_sharing`,
    '  http-request set-var(txn.open) be_conn(boxes) if is_sharing',
    '  http-request set-var(txn.opened) be_conn(boxes_page) if is_sharing',
    '  http-request set-var(txn.opened) be_conn(boxes_h2c),add(txn.opened) if is_sharing',
    '  http-request set-var(txn.opened) be_conn(boxes_h2c_page),add(txn.opened) if is_sharing',
    ...(hasCells
      ? [
          '  http-request set-var(txn.opened) be_conn(cells),add(txn.opened) if is_sharing',
          '  http-request set-var(txn.opened) be_conn(cells_page),add(txn.opened) if is_sharing',
        ]
      : []),
    ...refusalRules(MANY_OPEN, `is_sharing { sc_conn_cur(2),add(txn.open),add(txn.opened) gt ${limits.connections} }`),
  ]
}

/** Buffers that hold a head of `HEAD_BYTES`, with what the rules add and some more, for which `headLimit` has words. */
export function headBuffers(): string[] {
  return [`  tune.bufsize ${BUFFER_BYTES}`, `  tune.maxrewrite ${REWRITE_BYTES}`]
}

/** Refuses requests with too large a head. The first condition costs next to nothing, and holds for few requests. */
export function headLimit(): string[] {
  return refusalRules(LARGE_HEAD, `{ internal.htx.data gt ${HEAD_BYTES} } { req.hdrs,length gt ${HEAD_BYTES} }`)
}

function proxiedSources({ trustedProxies, hasFrontProxy, hasCells }: RequestSources): string[] {
  if (hasFrontProxy) return ['  acl is_proxied always_true']
  return [
    ...(trustedProxies.length > 0 ? [`  acl is_proxied fc_src -m ip ${trustedProxies.join(' ')}`] : []),
    ...(hasCells ? [`  acl is_proxied ${IS_LED}`] : []),
  ]
}

/** Refuses what the agent would have to decide (`condition`, an ACL) of a client that makes it decide too much. */
export function questionLimits({ questionsPerSecond }: EdgeLimits, condition: string): string[] {
  return [
    `  acl is_asking_much sc_gpc0_rate(1) gt ${questionsPerSecond * PERIOD_SECONDS}`,
    `  http-request sc-inc-gpc0(1) if ${condition}`,
    ...refusalRules(MANY_ASKED, `${condition} is_asking_much`),
  ]
}

/**
 * Defines `is_refused_much`: the agent has answered too many requests of the client in place of boxes. Such an answer costs the agent more
 * than a decision, and has a counter of its own: decisions continue.
 */
export function refusalRate({ questionsPerSecond }: EdgeLimits): string {
  return `  acl is_refused_much sc_gpc1_rate(1) gt ${questionsPerSecond * PERIOD_SECONDS}`
}

/**
 * Refuses requests of such a client to ports in whose place the agent answered lately. Requests to other ports continue. Needs the counters
 * of `COUNT_REFUSAL`.
 */
export function tooManyRefusals(answerOf: (refusal: EdgeRefusal) => string): string {
  return `  http-request return status ${ERROR_STATUSES.get(MANY_REFUSED.code)} ${answerOf(MANY_REFUSED)} if is_refused_much { sc_gpc0_rate(0) gt 0 }`
}

/** Data of the table of ports for `tooManyRefusals`. */
export const REFUSALS_COUNTED = `gpc0,gpc0_rate(${PERIOD_SECONDS}s)`
/** Actions that count an answer of the agent in place of a box, for its port and its client. */
export const COUNT_REFUSAL = ['sc-inc-gpc0(0)', 'sc-inc-gpc1(1)']
/** Longest head of a request. */
const HEAD_BYTES = 65_536
const BUFFER_BYTES = 98_304
const REWRITE_BYTES = 4_096
const LARGE_HEAD: EdgeRefusal = {
  code: 'headers_too_large',
  detail: 'The head of the request, its headers and cookies included, is larger than 64 KiB.',
  wayOut: 'Delete cookies of this site, or send less.',
}
const CLIENT = 'src,ipmask(32,64)'
const MANY_OPEN: EdgeRefusal = {
  code: 'rate_limited',
  detail: 'Too many requests of this address are open.',
  wayOut: 'End some, or try again when they have ended.',
}
const MANY_REFUSED: EdgeRefusal = {
  code: 'rate_limited',
  detail: 'This address sends too many requests to a port that nothing answers at.',
  wayOut: 'Start the server of the box, and try again in 10 s.',
}
const MANY_ASKED: EdgeRefusal = {
  code: 'rate_limited',
  detail: 'This address makes too many requests that need a decision.',
  wayOut: 'Send a valid token, and try again in 10 s.',
}
