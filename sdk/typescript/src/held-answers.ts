import { type ApiError, ConnectionError } from './api-error.ts'
import { parseJson, toApiError, unexpectedAnswer } from './problems.ts'

/** Limits of an answer that is held in memory. */
export interface HoldLimits {
  /** Maximum bytes of an answer. Several times the longest ones, which hold output of commands. */
  answerBytes: number
  /** From the head of an answer to its end. */
  answerMs: number
}

export const HOLD_LIMITS: HoldLimits = { answerBytes: 64 * 1024 * 1024, answerMs: 300_000 }

/**
 * Reads an answer as text. Reads at most 1 MiB of an error response, which is more than any problem has.
 * @throws ApiError `unexpected_answer` for an answer that is too long or does not end in time, ConnectionError for one that breaks off
 */
export async function holdText(response: Response, limits: HoldLimits = HOLD_LIMITS): Promise<string> {
  const { body, ok, status } = response
  if (body === null) return ''
  const most = ok ? limits.answerBytes : Math.min(REFUSAL_BYTES, limits.answerBytes)
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    void reader.cancel().catch(() => undefined)
  }, limits.answerMs)
  // One growing array, because pieces can be as small as a byte.
  let bytes = new Uint8Array(FIRST_BYTES)
  let length = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      if (length + value.length > most) {
        if (!ok) break
        throw unexpectedAnswer(status, `The answer is longer than ${most} bytes, the limit of this client.`)
      }
      if (length + value.length > bytes.length) bytes = grown(bytes, length + value.length)
      bytes.set(value, length)
      length += value.length
    }
  } catch (error) {
    // The same error as fetch has for a lost connection, with its platform's message.
    if ((error as { name?: unknown } | null)?.name === 'TypeError')
      throw new ConnectionError('The connection was lost before the end of the answer.', { cause: error })
    throw error
  } finally {
    clearTimeout(timer)
    void reader.cancel().catch(() => undefined)
  }
  if (isLate && ok) throw unexpectedAnswer(status, `The answer did not end within ${limits.answerMs / 1000} s.`)
  return new TextDecoder().decode(bytes.subarray(0, length))
}

function grown(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(length, bytes.length * 2))
  larger.set(bytes)
  return larger
}

/** Reads a refusal. */
export async function refusalFrom(response: Response): Promise<ApiError> {
  return toApiError(response.status, parseJson(await holdText(response)))
}

/** Reads the JSON object of an answer, or returns undefined if it has no body. @throws ApiError `unexpected_answer` */
export async function holdObject(response: Response): Promise<unknown> {
  const text = await holdText(response)
  if (response.status === 204) return undefined
  const parsed = parseJson(text)
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed
  throw unexpectedAnswer(response.status, 'The answer is not a JSON object.', parsed)
}

const FIRST_BYTES = 16 * 1024
const REFUSAL_BYTES = 1024 * 1024
