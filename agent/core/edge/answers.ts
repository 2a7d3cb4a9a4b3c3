import { asServiceError, problemOf } from '../../../shared/errors.ts'
import { problemResponse } from '../../../shared/http/messages.ts'
import { PRIVATE_HEADERS, pageHeaders, prefersPage } from '../../../shared/http/page.ts'
import { messagePage } from './pages.ts'

/** An answer of ours at the edge. */
export interface EdgeAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

/** What the form of an answer depends on. */
export interface Asker {
  method: string
  accept: string | undefined
  requestId: string
}

/** Any thrown value as RFC 9457 for a program, and as a page of the same status for a person. */
export function edgeAnswerOf(error: unknown, { method, accept, requestId }: Asker): EdgeAnswer {
  const problem = problemOf(asServiceError(error), requestId, '/.boxyard/problems')
  const { status, headers } = problemResponse(error, requestId)
  const plain = { ...(headers as Record<string, string>), ...PRIVATE_HEADERS, vary: 'accept' }
  if (!prefersPage(accept)) return bodyFor(method, { status, headers: plain, body: JSON.stringify(problem) })
  const small = `${problem.code} · ${requestId}`
  const body = messagePage(problem.title, { text: problem.detail, small })
  return bodyFor(method, { status, headers: { ...plain, ...pageHeaders() }, body })
}

/** Leads a browser to another address of ours. */
export function leadTo(location: string, headers: Record<string, string> = {}): EdgeAnswer {
  return { status: 302, headers: { location, ...headers, ...PRIVATE_HEADERS }, body: '' }
}

function bodyFor(method: string, answer: EdgeAnswer): EdgeAnswer {
  return method === 'HEAD' ? { ...answer, body: '' } : answer
}
