import { ERROR_STATUSES } from '../../../shared/errors.ts'
import type { EdgeLimits } from '../../ports/edge/edge.ts'
import { clientTables } from './config-limits.ts'
import { cookieRules, sessionAnswerRules } from './config-session.ts'
import { type EdgeRefusal, pageAnswer, problemAnswer } from './pages.ts'

/**
 * The table of requests and open streams, and those of clients. Its keys are `<address>:<port>/<box id>|<credential>|<stream>`:
 * the digest of the credential that admitted the request, empty for a public route, and the number of the stream (`id` in `show sess`) of
 * a WebSocket or an event stream, empty for other requests.
 */
export function useTables({ limits }: { limits: EdgeLimits }): string[] {
  // Of streams only those that last have entries of their own, so that frequent requests share few.
  const use = ['backend boxes_use', '  stick-table type string len 192 size 20k store conn_cur,http_req_cnt']
  return [...use, ...clientTables(limits)]
}

/** The backends of boxes and of the agent's own pages. */
export function boxBackends({
  tokenPrefixes,
  signInHost,
}: {
  tokenPrefixes: readonly string[]
  signInHost: string
}): string[] {
  const domain = signInHost.slice(signInHost.indexOf('.') + 1)
  const boxBackend = (name: string, answerOf: (refusal: EdgeRefusal) => string): string[] => [
    `backend ${name}`,
    ...delivery(tokenPrefixes),
    ...answering(answerOf, domain),
  ]
  return [...boxBackend('boxes', problemAnswer), ...boxBackend('boxes_page', pageAnswer), ...agentBackend()]
}

/** Forwards to the box of `txn.route`, without tokens of this deployment. */
function delivery(tokenPrefixes: readonly string[]): string[] {
  return [
    // No retries: they need a copy of each request, a third of its cost here.
    '  retries 0',
    '  http-request set-dst var(txn.route),word(1,:)',
    '  http-request set-dst-port var(txn.route),word(2,:/)',
    '  acl is_lasting req.hdr(upgrade) -m found',
    '  acl is_lasting req.fhdr(accept) -m sub -i text/event-stream',
    '  http-request set-var-fmt(txn.stream) %rt if is_lasting { var(txn.credential) -m found }',
    '  http-request track-sc0 var(txn.route),word(1,|),concat(|,txn.credential),concat(|,txn.stream) table boxes_use',
    `  http-request del-header authorization if { req.fhdr(authorization) -m sub ${tokenPrefixes.join(' ')} }`,
    // Closes idle connections before the box does, which could race with a request.
    '  server box 0.0.0.0:0 pool-purge-delay 2s',
  ]
}

/** Handles responses of a box, and answers for one that does not respond. */
function answering(answerOf: (refusal: EdgeRefusal) => string, domain: string): string[] {
  const { code, detail } = UNREACHABLE
  const answer = answerOf({ code, detail })
  return [
    '  http-response set-var(txn.answered) bool(1) if { status 503:504 }',
    ...cookieRules(domain),
    ...sessionAnswerRules(),
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

const UNREACHABLE: EdgeRefusal = {
  code: 'port_unreachable',
  detail: 'Nothing answers on port %[var(txn.route),word(2,:/)] of this box.',
}
