import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda'
import { ServiceError } from '../shared/errors.ts'
import { cancelStream, isStream } from '../shared/http/body-stream.ts'
import { readWhole } from '../shared/http/gathered-pieces.ts'
import type { HeaderMap, HttpRequest, HttpResponse } from '../shared/http/messages.ts'
import { NOSNIFF } from '../shared/http/nosniff.ts'
import { refusal } from '../shared/refusals.ts'

/** Converts an API Gateway HTTP API event (payload 2.0) to a request. */
export function fromLambdaEvent(event: APIGatewayProxyEventV2): HttpRequest {
  const { http } = event.requestContext
  const query = event.rawQueryString ? `?${visibleAscii(event.rawQueryString)}` : ''
  const body = event.body ? Buffer.from(event.body, event.isBase64Encoded ? 'base64' : 'utf8') : EMPTY
  return {
    method: http.method,
    target: visibleAscii(event.rawPath.replaceAll('?', '%3F').replaceAll('#', '%23')) + query,
    headers: headersOf(event),
    clientAddress: http.sourceIp,
    signal: NEVER.signal,
    readBody: (maxBytes) => {
      if (body.length <= maxBytes) return Promise.resolve(body)
      return Promise.reject(
        refusal('body_too_large', [
          `The body may be at most ${maxBytes} bytes.`,
          'Send less, or send it to the data address with a ticket.',
        ]),
      )
    },
    openBody: async function* () {
      yield body
    },
  }
}

/**
 * Converts a response to the result for API Gateway. Text stays unchanged, and anything else becomes base64. `method` HEAD has no body.
 * @throws ServiceError `agent_protocol` for a body that a function cannot return
 */
export async function toLambdaResult(
  response: HttpResponse,
  method: string,
): Promise<APIGatewayProxyStructuredResultV2> {
  const isHead = method === 'HEAD'
  const body = isHead ? EMPTY : await wholeBody(response.body)
  const headers: Record<string, string> = { ...NOSNIFF }
  for (const [name, value] of Object.entries(response.headers)) {
    if (name !== 'set-cookie') headers[name] = typeof value === 'string' ? value : value.join(', ')
  }
  const cookies = response.headers['set-cookie']
  const isText = TEXT.test(headers['content-type'] ?? '')
  const length = isHead ? await lengthOf(response.body) : null
  if (length !== null) headers['content-length'] = String(length)
  return {
    statusCode: response.status,
    headers,
    ...(cookies === undefined ? {} : { cookies: typeof cookies === 'string' ? [cookies] : [...cookies] }),
    ...(body.length === 0 ? {} : { body: body.toString(isText ? 'utf8' : 'base64'), isBase64Encoded: !isText }),
  }
}

function headersOf(event: APIGatewayProxyEventV2): HeaderMap {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(event.headers)) {
    if (value !== undefined) headers[name.toLowerCase()] = value
  }
  if (event.cookies && event.cookies.length > 0) headers.cookie = event.cookies.join('; ')
  return headers
}

/** Encodes a path as visible ASCII again. API Gateway decodes parts of it. */
function visibleAscii(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x7e]+/gu, encodeURIComponent)
}

async function wholeBody(body: HttpResponse['body']): Promise<Buffer> {
  if (body === null) return EMPTY
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.length)
  return readWhole(body, { maxBytes: RESULT_MAX_BYTES, tooLong: tooLarge })
}

/** Returns the length of a body that is not sent, and closes its stream. Returns null if it is unknown, unless its headers state it. */
async function lengthOf(body: HttpResponse['body']): Promise<number | null> {
  if (!isStream(body)) return body === null ? 0 : Buffer.byteLength(body)
  await cancelStream(body)
  return null
}

function tooLarge(): ServiceError {
  return new ServiceError('agent_protocol', 'The answer is too large for this address.', {
    cause: new Error(`the agent's answer exceeds ${RESULT_MAX_BYTES} bytes`),
  })
}

const EMPTY = Buffer.alloc(0)
const NEVER = new AbortController()
const TEXT = /^(application\/([a-z.+-]+\+)?json|text\/)/i

/** A function may return 6 MiB of JSON, which includes the overhead of quoting and base64. */
export const RESULT_MAX_BYTES = 4 * 1024 * 1024
