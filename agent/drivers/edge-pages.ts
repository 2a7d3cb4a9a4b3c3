import { createHash } from 'node:crypto'
import { type ErrorCode, problemOf, ServiceError } from '../../shared/errors.ts'

/** A refusal of the edge's own. `detail` may hold expressions of HAProxy, `%[…]`, and no other quote or percent sign. */
export interface EdgeRefusal {
  code: ErrorCode
  detail: string
}

/** What follows `status <n>` in a rule of HAProxy that answers with a problem (api.md §1, Errors). */
export function problemAnswer({ code, detail }: EdgeRefusal): string {
  const problem = problemOf(new ServiceError(code, detail), REQUEST_ID)
  return `content-type application/problem+json ${HEADERS} lf-string '${JSON.stringify(problem)}'`
}

/** The same for a person: a page that needs nothing from anywhere. */
export function pageAnswer({ code, detail }: EdgeRefusal): string {
  const { title } = problemOf(new ServiceError(code, detail), '')
  const head = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>`
  const page = `${head}<style>${STYLE}</style></head><body><main><h1>${title}</h1><p>${detail}</p></main></body></html>`
  return `content-type "text/html; charset=utf-8" ${HEADERS} hdr content-security-policy "${POLICY}" lf-string '${page}'`
}

// 26 characters that an identifier may have, though these do not sort by time.
const REQUEST_ID = 'req_%[uuid(4),regsub(-,,g),bytes(0,26)]'
const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:36rem;margin:20vh auto;padding:0 1rem}h1{font-size:1.5rem}'
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
const HEADERS = 'hdr cache-control no-store hdr x-content-type-options nosniff'
