import {
  type CodeOf,
  ERROR_STATUSES,
  type ErrorCode,
  problemFacts,
  problemOf,
  ServiceError,
} from '../../../shared/errors.ts'
import { pageOf, pagePolicy } from '../../../shared/http/page.ts'

/** An error that the edge answers itself. The texts may contain HAProxy expressions, `%[…]`, and no other percent sign or quote. */
export type EdgeRefusal =
  | { code: Exclude<ErrorCode, RemovableCode>; detail: string }
  | { code: RemovableCode; detail: string; wayOut: string }

/** Codes whose cause a client can remove. Such a refusal names the way out. */
type RemovableCode = CodeOf<403 | 409 | 413 | 429 | 431 | 507>

/** Returns the arguments after `status <n>` of an HAProxy rule that answers with a problem (docs/api.md#errors). */
export function problemAnswer(refusal: EdgeRefusal): string {
  const problem = problemOf(new ServiceError(refusal.code, textOf(refusal)), REQUEST_ID, '/.boxyard/problems')
  return `content-type application/problem+json ${HEADERS} lf-string '${JSON.stringify(problem)}'`
}

/** As `problemAnswer`, for browsers, with a self-contained page. */
export function pageAnswer(refusal: EdgeRefusal): string {
  const { title } = problemFacts(refusal.code)
  // Escapes percent signs that do not begin an expression.
  const page = pageOf({ title, main: `<p>${textOf(refusal)}</p>` }).replaceAll(/%(?!\[)/g, '%%')
  return `content-type "text/html; charset=utf-8" ${HEADERS} hdr content-security-policy "${pagePolicy()}" lf-string '${page}'`
}

/**
 * Returns the errors that HAProxy answers itself, for a frontend and its backends, since HAProxy's defaults have neither our form nor our
 * headers. To bytes that it cannot parse as a request at all, it still answers with its own constant page, which no setting can change.
 */
export function ownErrors(): string[] {
  const away = problemAnswer({ code: 'agent_unavailable', detail: 'The edge does not answer.' })
  return [
    `  http-error status 400 ${problemAnswer({ code: 'invalid_request', detail: 'The request is not valid HTTP.' })}`,
    `  http-error status 408 content-type text/plain ${HEADERS} string "The request took too long to arrive."`,
    `  http-error status 500 ${problemAnswer({ code: 'internal', detail: 'The edge failed at this request.' })}`,
    ...[502, 503, 504].map((status) => `  http-error status ${status} ${away}`),
  ]
}

/** Returns rules that answer with a refusal under a condition. Browsers (`is_browser`) get a page, other clients a problem. */
export function refusalRules(refusal: EdgeRefusal, condition: string): string[] {
  const status = ERROR_STATUSES.get(refusal.code)
  return [
    `  http-request return status ${status} ${pageAnswer(refusal)} if is_browser ${condition}`,
    `  http-request return status ${status} ${problemAnswer(refusal)} if ${condition}`,
  ]
}

function textOf(refusal: EdgeRefusal): string {
  return 'wayOut' in refusal ? `${refusal.detail} ${refusal.wayOut}` : refusal.detail
}

// 26 characters as in an id, though not sortable by time.
const REQUEST_ID = 'req_%[uuid(4),regsub(-,,g),bytes(0,26)]'
const HEADERS = 'hdr cache-control no-store hdr x-content-type-options nosniff'
