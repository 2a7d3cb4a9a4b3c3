import { ERROR_STATUSES } from '../../../shared/errors.ts'
import type { EdgeLimits } from '../../ports/edge/edge.ts'
import { COUNT_REFUSAL, clientTables, REFUSALS_COUNTED, refusalRate, tooManyRefusals } from './config-limits.ts'
import { cookieRules, sessionAnswerRules } from './config-session.ts'
import { EDGE_REFUSAL_HEADER, FALLBACK_SOCKET, SHARED_ENTRY } from './names.ts'
import { type EdgeRefusal, pageAnswer, problemAnswer } from './pages.ts'

/**
 * The table of requests and open streams, and the tables of clients. A key of the first is
 * `<address>:<port>/<box id>|<credential>|<stream>`. The credential is the digest of the one that admitted the request, empty for a public
 * route. The stream is the number (`id` in `show sess`) of a WebSocket or an event stream, and empty for other requests. Streams of a client
 * with too many refusals have `SHARED_ENTRY` instead.
 */
export function useTables({ limits }: { limits: EdgeLimits }): string[] {
  // Only long-lived streams have their own entries, so that frequent requests share few.
  const stored = `conn_cur,http_req_cnt,http_req_rate(${BUSY_PERIOD_MS}),${REFUSALS_COUNTED}`
  const use = ['backend boxes_use', `  stick-table type string len 192 size 20k store ${stored}`]
  return [...use, ...clientTables(limits)]
}

interface BoxSettings {
  tokenPrefixes: readonly string[]
  signInHost: string
  refusalMark: string
  limits: EdgeLimits
}

/** The backends of boxes and of the agent's own pages. */
export function boxBackends(settings: BoxSettings): string[] {
  const { signInHost } = settings
  const domain = signInHost.slice(signInHost.indexOf('.') + 1)
  const boxBackend = (name: string, answerOf: (refusal: EdgeRefusal) => string, isHttp2 = false): string[] => [
    `backend ${name}`,
    ...delivery(settings, { answerOf, isHttp2 }),
    ...countedRefusals(settings),
    ...answering(answerOf, domain, isHttp2 ? NO_HTTP2 : NO_ANSWER),
  ]
  return [
    ...[...boxBackend('boxes', problemAnswer), ...boxBackend('boxes_page', pageAnswer)],
    ...[...boxBackend('boxes_h2c', problemAnswer, true), ...boxBackend('boxes_h2c_page', pageAnswer, true)],
    ...agentBackend(),
  ]
}

/**
 * Forwards to the box of `txn.route`, without tokens of this deployment. A failed request goes to the agent once. The agent reaches servers
 * on the box's loopback, and explains the fault of any other (fallback-server.ts).
 */
function delivery(
  { tokenPrefixes, limits }: BoxSettings,
  { answerOf, isHttp2 }: { answerOf: (refusal: EdgeRefusal) => string; isHttp2: boolean },
): string[] {
  const protocol = isHttp2 ? ' proto h2' : ''
  return [
    '  retries 1',
    '  option redispatch 1',
    `  retry-on conn-failure${isHttp2 ? '' : ' empty-response junk-response'}`,
    '  balance roundrobin',
    '  http-request set-dst var(txn.route),word(1,:)',
    '  http-request set-dst-port var(txn.route),word(2,:/)',
    '  acl is_safe method GET HEAD OPTIONS',
    '  acl is_lasting req.hdr(upgrade) -m found',
    '  acl is_lasting req.fhdr(accept) -m sub -i text/event-stream',
    refusalRate(limits),
    '  http-request set-var-fmt(txn.stream) %rt if is_lasting { var(txn.credential) -m found }',
    // Streams of a client with too many refusals share an entry, because entries of their own would start at 0.
    `  http-request set-var(txn.stream) str(${SHARED_ENTRY}) if is_refused_much { var(txn.stream) -m found }`,
    '  http-request track-sc0 var(txn.route),word(1,|),concat(|,txn.credential),concat(|,txn.stream) table boxes_use',
    tooManyRefusals(answerOf),
    `  http-request del-header authorization if { req.fhdr(authorization) -m sub ${tokenPrefixes.join(' ')} }`,
    // To send again, HAProxy needs a copy of the request. This costs a third of the request's cost here, and a buffer of memory until the
    // answer comes. A refused connection needs no copy. Unsafe requests must not be sent twice.
    ...(isHttp2
      ? []
      : [
          `  http-request disable-l7-retry unless is_safe { sc0_http_req_rate le ${BUSY_REQUESTS} } { sc0_conn_cur le ${BUSY_OPEN} } !is_lasting`,
        ]),
    '  use-server box if TRUE',
    // Closes idle connections before the box does, which could race with a request.
    `  server box 0.0.0.0:0 pool-purge-delay 2s${protocol}`,
    // Keeps no connection, because the agent looks at the first answer of each.
    `  server fallback unix@/${FALLBACK_SOCKET} send-proxy-v2 pool-max-conn 0${protocol}`,
  ]
}

/**
 * Counts the agent's own answers in place of a box, by client and by route. The mark is a secret, since the agent also forwards answers of
 * boxes. With the mark, a box could have its visitors refused elsewhere.
 */
function countedRefusals({ refusalMark }: BoxSettings): string[] {
  return [
    `  acl is_refusal res.hdr(${EDGE_REFUSAL_HEADER}) -m str ${refusalMark}`,
    ...COUNT_REFUSAL.map((count) => `  http-response ${count} if is_refusal`),
    `  http-response del-header ${EDGE_REFUSAL_HEADER}`,
  ]
}

/** Handles responses of a box, and answers for one that does not respond. */
function answering(answerOf: (refusal: EdgeRefusal) => string, domain: string, noAnswer: EdgeRefusal): string[] {
  const { code } = noAnswer
  return [
    '  http-response set-var(txn.answered) bool(1) if { status 503:504 }',
    ...cookieRules(domain),
    ...sessionAnswerRules(),
    `  http-error status 502 ${answerOf(noAnswer)}`,
    `  http-error status 503 ${answerOf(NOTHING_LISTENS)}`,
    `  http-error status 504 ${answerOf(NO_ANSWER_IN_TIME)}`,
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

/** The rules that choose the backends of boxes. */
export const TO_BOXES = [
  '  acl is_h2c var(txn.route) -m sub |h2c|',
  '  use_backend boxes_h2c_page if is_h2c is_browser',
  '  use_backend boxes_h2c if is_h2c',
  '  use_backend boxes_page if is_browser',
  '  default_backend boxes',
]
const PORT = '%[var(txn.route),word(2,:/)]'
/** Answers of the edge when it does not retry, because it knows no details then. */
const NO_ANSWER: EdgeRefusal = {
  code: 'port_unreachable',
  detail: `The server on port ${PORT} of this box closed the connection before it answered, or its response is not HTTP/1.1. Send a GET request to see which.`,
}
const NO_HTTP2: EdgeRefusal = {
  code: 'port_unreachable',
  detail: `The server on port ${PORT} of this box does not speak HTTP/2 without TLS (h2c), as protocol says, or closed the connection.`,
}
const NOTHING_LISTENS: EdgeRefusal = {
  code: 'port_unreachable',
  detail: `Nothing answers on port ${PORT} of this box.`,
}
const NO_ANSWER_IN_TIME: EdgeRefusal = {
  code: 'port_unreachable',
  detail: `The server on port ${PORT} of this box did not answer in time.`,
}
/** Limits of one port and credential, above which the edge does not retry a failed request. */
const BUSY_PERIOD_MS = 1_000
const BUSY_REQUESTS = 30
const BUSY_OPEN = 8
