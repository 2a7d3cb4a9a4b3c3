import { ApiError, type RequestFault } from './api-error.ts'
import { ERROR_CLASSES } from './generated/error-classes.ts'

/** Creates the error for the status and body of any answer. A proxy's page gets the code `unexpected_answer`. */
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
      errors: Array.isArray(errors) ? errors.filter(isFault) : [],
    },
    body,
  )
}

/** Creates the error for an answer that no Boxyard sends, with the fault in it. */
export function unexpectedAnswer(status: number, detail: string, body: unknown = ''): ApiError {
  const fields = { code: 'unexpected_answer', status, detail, requestId: null, retryable: false, errors: [] }
  return new ApiError(fields, body)
}

/** Returns an id that the service assigned. @throws ApiError for an id that would change the path */
export function checkId(text: unknown): string {
  if (typeof text === 'string' && /^[A-Za-z0-9][\w.-]{0,127}$/.test(text)) return text
  throw unexpectedAnswer(200, `The service sent an invalid id: ${JSON.stringify(text)?.slice(0, 80)}`)
}

/** Creates the answer that replaces a redirect which the client does not follow. */
export function refusalOf(status: number, detail: string): Response {
  return new Response(JSON.stringify({ code: 'unexpected_answer', detail }), { status })
}

/** Parses text as JSON. Returns the text itself if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function isFault(value: unknown): value is RequestFault {
  const { pointer, detail } = (value ?? {}) as Record<string, unknown>
  return typeof pointer === 'string' && typeof detail === 'string'
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}
