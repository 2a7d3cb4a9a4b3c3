import { isUtf8 } from 'node:buffer'
import { asServiceError, problemOf, ServiceError } from '../errors.ts'
import type { OpenFlow } from '../flow-turns.ts'
import { shapeFault } from '../json-shape.ts'
import { HTTP_BOUNDS } from './bounds.ts'

/** Headers as node:http gives them. Names are in lower case, and only `set-cookie` is a list. */
export type HeaderMap = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * A request in the form in which every host passes it to an app. It is not the web `Request`. Loading that class costs 22 ms of a
 * function's start, and creating one costs more than the rest of a request's way through the front.
 */
export interface HttpRequest {
  readonly method: string
  /** Path and query as sent, starting with `/`. */
  readonly target: string
  readonly headers: HeaderMap
  /** The address of the peer, or `""` if unknown. */
  readonly clientAddress: string
  /** Aborts if the client leaves before its answer is complete. */
  readonly signal: AbortSignal
  /**
   * Reads the whole body, empty if there is none. Before this call nothing is read, and the client does not get 100 Continue.
   * @throws ServiceError `body_too_large` beyond `maxBytes`, `invalid_request` if the client breaks off
   */
  readBody(maxBytes: number): Promise<Uint8Array>
  /**
   * Opens the body in place of `readBody`: in pieces, of any length, read on demand. Throws ServiceError `invalid_request` if the
   * client breaks off, or is silent for a minute.
   */
  openBody(): AsyncIterable<Uint8Array>
}

/** Bytes of an answer that can report to their reader why they end early. */
export interface ToldBytes extends AsyncIterable<Uint8Array> {
  /** Returns the piece to send last. */
  lastPiece(reason: ServiceError): Uint8Array
}

/** An answer. A stream is read only as fast as the client takes it. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | ToldBytes | null
  /** Account that shares the memory of answers waiting for their clients. Default: the client's source address. */
  readonly account?: string
  /** Opens the turns by which a stream is sent. By default it takes none. */
  readonly openFlow?: OpenFlow
}

/** An app, which answers every request. It handles its own errors, and a rejection is a bug. */
export type HttpHandler = (request: HttpRequest) => Promise<HttpResponse>

/** Returns the value of a header, or undefined. A repeated header other than `set-cookie` is joined by commas. */
export function headerOf(headers: HeaderMap, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : value?.[0]
}

/** Splits a request target at the first `?` into the raw path and the raw query. */
export function splitTarget(target: string): { pathname: string; search: string } {
  const mark = target.indexOf('?')
  return mark < 0
    ? { pathname: target, search: '' }
    : { pathname: target.slice(0, mark), search: target.slice(mark + 1) }
}

/**
 * Parses a raw query, which costs far more than any earlier step. @throws ServiceError `invalid_request` if it has more than 1,024
 * parameters
 */
export function parseQuery(search: string): URLSearchParams {
  let separators = 0
  for (let at = search.indexOf('&'); at >= 0; at = search.indexOf('&', at + 1)) separators++
  if (separators < HTTP_BOUNDS.queryParameters) return new URLSearchParams(search)
  throw new ServiceError(
    'invalid_request',
    `The query has too many parameters. The limit is ${HTTP_BOUNDS.queryParameters}.`,
  )
}

/** Returns the client's `X-Request-Id` if it is 1–128 printable ASCII characters, else undefined. */
export function givenRequestId(headers: HeaderMap): string | undefined {
  const given = headerOf(headers, 'x-request-id')
  return given !== undefined && REQUEST_ID.test(given) ? given : undefined
}

/** Returns the token of `Authorization: Bearer …`, or undefined without such a header, or for another scheme. */
export function bearerToken(headers: HeaderMap): string | undefined {
  return BEARER.exec(headerOf(headers, 'authorization') ?? '')?.[1]
}

/** Returns a JSON answer. */
export function jsonResponse(status: number, value: unknown, headers: Record<string, string> = {}): HttpResponse {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) }
}

/** Converts any thrown value to an answer, as RFC 9457 (docs/api.md#errors). Foreign errors become `internal`. */
export function problemResponse(error: unknown, requestId: string): HttpResponse {
  const known = asServiceError(error)
  const headers: Record<string, string> = {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'x-request-id': requestId,
  }
  if (known.status === 401) headers['www-authenticate'] = 'Bearer'
  for (const [name, value] of Object.entries(known.headers)) headers[name.toLowerCase()] = value
  return { status: known.status, headers, body: JSON.stringify(problemOf(known, requestId)) }
}

/**
 * Parses a JSON body. Returns undefined for an empty body of any type.
 * @throws ServiceError `unsupported_media_type` unless it is `application/json` in UTF-8
 * @throws ServiceError `invalid_json` if it is not JSON, not UTF-8, nested deeper than 64, of more than 1,024 fields or 8,192 fields and
 * elements, or names a field `__proto__`
 */
export function readJson(body: Uint8Array, contentType: string | undefined): unknown {
  if (body.length === 0) return undefined
  if (!JSON_TYPE.test(contentType ?? '')) {
    throw new ServiceError('unsupported_media_type', 'The body must be application/json in UTF-8.')
  }
  const text = decodeText(body)
  const fault = shapeFault(text, { fields: HTTP_BOUNDS.jsonFields, values: HTTP_BOUNDS.jsonValues })
  if (fault !== null) throw new ServiceError('invalid_json', `The body ${fault}.`)
  if (PROTOTYPE_NAME.test(text))
    throw new ServiceError('invalid_json', 'The body contains a field named "__proto__", which is not allowed.')
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ServiceError('invalid_json', 'The body is not valid JSON.', { cause })
  }
}

/** Returns true if a body of this content type is JSON rather than bytes, for an operation that takes both. */
export function isJsonType(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/json *(;|$)/i.test(contentType)
}

function decodeText(body: Uint8Array): string {
  if (!isUtf8(body)) throw new ServiceError('invalid_json', 'The body is not valid UTF-8.')
  return Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8')
}

// JSON can write any character as an escape of its code.
function spellingsOf(character: string): string {
  const code = character.charCodeAt(0).toString(16).padStart(4, '0')
  const digits = [...code].map((digit) => `[${digit}${digit.toUpperCase()}]`).join('')
  return `(?:${character}|\\\\u${digits})`
}

const REQUEST_ID = /^[\x20-\x7e]{1,128}$/
const BEARER = /^bearer +([^\s,]+) *$/i
const JSON_TYPE = /^application\/json *(; *charset="?utf-8"? *)?$/i
/** Validators skip this name, so the value would be lost without an error. Within a JSON string its quotes are escaped. */
const PROTOTYPE_NAME = new RegExp(`"${[...'__proto__'].map(spellingsOf).join('')}"\\s*:`)
