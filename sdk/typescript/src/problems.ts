import { ApiError, type RequestFault } from './api-error.ts'
import { ERROR_CLASSES } from './generated/error-classes.ts'

/** Makes the error of an answer's status and body, whoever sent it: a proxy's page becomes code `unexpected_answer`. */
export function toApiError(status: number, body: unknown): ApiError {
  const problem = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  const code = textOr(problem['code'], 'unexpected_answer')
  const errors = problem['errors']
  const Class = Object.hasOwn(ERROR_CLASSES, code) ? (ERROR_CLASSES[code] ?? ApiError) : ApiError
  return new Class(
    {
      code,
      status,
      detail: textOr(problem['detail'], `The service answered with status ${status}.`),
      requestId: textOr(problem['request_id'], '') || null,
      retryable: problem['retryable'] === true,
      errors: Array.isArray(errors) ? (errors as RequestFault[]) : [],
    },
    body,
  )
}

/** Parses text as JSON; returns the text itself where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}
