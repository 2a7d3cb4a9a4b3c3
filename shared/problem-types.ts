import { ERROR_STATUSES, type ErrorCode, isErrorCode, type ProblemTypesPath, problemFacts } from './errors.ts'
import { NOSNIFF } from './http/nosniff.ts'
import { escapeHtml, pageHeaders, pageOf, prefersPage } from './http/page.ts'
import { PROBLEM_TEXTS } from './problem-texts.ts'

/** The explanation of one error code. */
export interface ProblemType {
  /** The `type` of problems of this code. */
  type: string
  code: ErrorCode
  title: string
  status: number
  retryable: boolean
  meaning: string
  remedy: string
  /** Path of the list of all codes. */
  catalogue: string
}

/** A query of one problem type, or of all if `code` is null, in the form that `accept` prefers. */
export interface ProblemTypesQuestion {
  code: string | null
  accept: string | undefined
  types: ProblemTypesPath
}

/** An answer that any host can send. */
export interface ProblemTypesAnswer {
  status: 200
  headers: Record<string, string>
  body: string
}

/**
 * Explains problem types, as JSON, or as a page if the client prefers one. Returns null for an unknown code. Static. Throws nothing,
 * because in a function this module has its own error class.
 */
export function answerProblemTypes({ code, accept, types }: ProblemTypesQuestion): ProblemTypesAnswer | null {
  const answer = prefersPage(accept) ? pageAnswer : jsonAnswer
  if (code === null) {
    const problems = problemTypes(types)
    return answer({ problems }, () => pageOfAll(problems))
  }
  if (!isErrorCode(code)) return null
  const problem = problemTypeOf(code, types)
  return answer(problem, () => pageOfOne(problem))
}

function jsonAnswer(value: object): ProblemTypesAnswer {
  const headers = { 'content-type': 'application/json', ...NOSNIFF, ...KEPT }
  return { status: 200, headers, body: JSON.stringify(value) }
}

function pageAnswer(_value: object, page: () => string): ProblemTypesAnswer {
  return { status: 200, headers: { ...pageHeaders(), ...KEPT }, body: page() }
}

/** Returns every error code explained, in the order of the catalogue. */
export function problemTypes(types: ProblemTypesPath = '/problems'): ProblemType[] {
  return [...ERROR_STATUSES.keys()].map((code) => problemTypeOf(code, types))
}

function problemTypeOf(code: ErrorCode, types: ProblemTypesPath): ProblemType {
  const [meaning, remedy] = PROBLEM_TEXTS[code]
  return { type: `${types}/${code}`, code, ...problemFacts(code), meaning, remedy, catalogue: types }
}

function pageOfOne({ title, status, code, retryable, meaning, remedy, catalogue }: ProblemType): string {
  const advice = retryable ? 'The same request may succeed later.' : 'The same request will fail again.'
  const main = [
    `<p><code>${escapeHtml(code)}</code> · status ${status}</p>`,
    `<p>${htmlOf(meaning)}</p>`,
    `<p>${htmlOf(remedy)}</p>`,
    `<p>${advice}</p>`,
    `<p class="small"><a href="${escapeHtml(catalogue)}">All problems</a></p>`,
  ]
  return pageOf({ title, main: main.join('') })
}

function pageOfAll(problems: readonly ProblemType[]): string {
  const items = problems.map(({ type, code, status, title }) => {
    return `<li><a href="${escapeHtml(type)}"><code>${escapeHtml(code)}</code></a> ${status} ${escapeHtml(title)}</li>`
  })
  return pageOf({ title: 'Problems', main: `<ul>${items.join('')}</ul>` })
}

/** Converts text with the code marks of Markdown to HTML. */
function htmlOf(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

const KEPT = { 'cache-control': 'public, max-age=3600', vary: 'accept' }
