import { type ErrorCode, problemFacts, problemOf, ServiceError } from '../../../shared/errors.ts'
import { pageOf, pagePolicy } from '../../../shared/http/page.ts'

/** A refusal of the edge's own. `detail` may hold expressions of HAProxy, `%[…]`, and no other quote or percent sign. */
export interface EdgeRefusal {
  code: ErrorCode
  detail: string
}

/** What follows `status <n>` in a rule of HAProxy that answers with a problem (docs/api.md#errors). */
export function problemAnswer({ code, detail }: EdgeRefusal): string {
  const problem = problemOf(new ServiceError(code, detail), REQUEST_ID, '/.boxyard/problems')
  return `content-type application/problem+json ${HEADERS} lf-string '${JSON.stringify(problem)}'`
}

/** The same for a person: a page that needs nothing from anywhere. */
export function pageAnswer({ code, detail }: EdgeRefusal): string {
  const { title } = problemFacts(code)
  // A percent sign that begins no expression is itself.
  const page = pageOf({ title, main: `<p>${detail}</p>` }).replaceAll(/%(?!\[)/g, '%%')
  return `content-type "text/html; charset=utf-8" ${HEADERS} hdr content-security-policy "${pagePolicy()}" lf-string '${page}'`
}

// 26 characters that an identifier may have, though these do not sort by time.
const REQUEST_ID = 'req_%[uuid(4),regsub(-,,g),bytes(0,26)]'
const HEADERS = 'hdr cache-control no-store hdr x-content-type-options nosniff'
