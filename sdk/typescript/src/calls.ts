import createFetchClient from 'openapi-fetch'
import { authorizationOf } from './authorization.ts'
import { OPERATIONS } from './generated/operations.ts'
import type { operations, paths } from './generated/schema.ts'
import { holdObject, refusalFrom } from './held-answers.ts'
import { checkPathParameters } from './path-parameters.ts'
import { redirectOf } from './redirects.ts'
import { fetchWithRetries, type RetryMark } from './retries.ts'

export type OperationId = keyof typeof OPERATIONS & keyof operations

/** Input of an operation: its path and query parameters, its JSON body, and the options of every call. */
export type CallInput<Id extends OperationId> = Pick<operations[Id]['parameters'], 'path' | 'query'> &
  BodyOf<operations[Id]> &
  CallOptions

export interface CallOptions {
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
}

/** The JSON that an operation returns, or undefined if it has no body. */
export type AnswerOf<Id extends OperationId> = Plain<
  JsonOf<operations[Id]['responses'][keyof operations[Id]['responses']]>
>

/** An answer with its status and headers. */
export interface FullAnswer<T> {
  status: number
  headers: Headers
  body: T
}

export interface CallerOptions {
  /** Origin of the front, such as `http://127.0.0.1:8080`. */
  url: string
  /** Returns the token. Called for each request, so that a renewed token takes effect. */
  token(): string | null
  attempts: number
  fetch(request: Request): Promise<Response>
}

export interface Caller {
  /** Calls an operation of the table with JSON. @throws ApiError, ConnectionError */
  call<Id extends OperationId>(id: Id, input: CallInput<Id>): Promise<AnswerOf<Id>>
  /** The same, with status and headers of the answer. */
  callFully<Id extends OperationId>(id: Id, input: CallInput<Id>): Promise<FullAnswer<AnswerOf<Id>>>
  /** Sends or receives bytes without holding them in memory. */
  transfer(id: OperationId, input: TransferInput): Promise<Response>
}

/** A stream of known length. Node.js announces the length, which lets the service accept the bytes faster. */
export interface SizedStream {
  stream: ReadableStream<Uint8Array>
  sizeBytes: number
}

/** Bytes of a request that is sent once. */
export type CallerBody = Uint8Array | Blob | ReadableStream<Uint8Array>

/** A request with bytes as its body or answer. */
export interface TransferInput extends CallOptions {
  path: Record<string, string>
  query: Record<string, unknown>
  body?: CallerBody | undefined
  contentType?: string
}

type BodyOf<Op> = Op extends { requestBody: { content: { 'application/json': infer Body } } } ? { body: Body } : object
type JsonOf<Answer> = Answer extends { content: { 'application/json': infer Json } } ? Json : never
type Plain<T> = [T] extends [never] ? undefined : T

/** Creates the caller that sends all requests of the API. It adds idempotency keys, retries and error classes to openapi-fetch. */
export function createCaller({ url, token, attempts, fetch }: CallerOptions): Caller {
  let client: ReturnType<typeof createFetchClient<paths>> | null = null
  const request = (...args: unknown[]): Promise<{ response: Response }> => {
    // Created at the first call, because it loads all of fetch, which a client that only opens streams does not need.
    client ??= createFetchClient<paths>({ baseUrl: url.replace(/\/+$/, '') })
    // Untyped here, and typed by `CallInput` and `AnswerOf`. openapi-fetch types by method and path, this client by operation.
    return (client.request as unknown as (...args: unknown[]) => Promise<{ response: Response }>)(...args)
  }
  const send = async (id: OperationId, input: LooseInput): Promise<Response> => {
    const { method, path, retry } = OPERATIONS[id]
    checkPathParameters(input.path ?? {})
    const isStream = input.body instanceof ReadableStream
    const mark: RetryMark = retry
    let answer: Response | null = null
    await request(method.toLowerCase(), path, {
      params: { path: input.path, query: input.query },
      ...(input.body === undefined ? {} : { body: input.body }),
      ...(input.isBytes ? { bodySerializer: (bytes: unknown) => bytes } : {}),
      redirect: redirectOf(method),
      ...(isStream ? { duplex: 'half' } : {}),
      headers: {
        ...authorizationOf(token()),
        ...(mark === 'key' ? { 'idempotency-key': randomKey() } : {}),
        ...input.headers,
      },
      signal: input.signal ?? null,
      // Reads the body here, because openapi-fetch would hold an answer of any length.
      fetch: async (sent: Request) => {
        answer = await fetchWithRetries(sent, { mark, attempts: isStream ? 1 : attempts, fetch })
        return new Response(null, { status: 204 })
      },
    })
    const response = answer as unknown as Response
    if (response.ok) return response
    throw await refusalFrom(response)
  }
  const callFully: Caller['callFully'] = async (id, input) => {
    const response = await send(id, { ...(input as unknown as LooseInput), isBytes: false })
    const { status, headers } = response
    return { status, headers, body: (await holdObject(response)) as AnswerOf<typeof id> }
  }
  return {
    callFully,
    call: async (id, input) => (await callFully(id, input)).body,
    transfer: async (id, { contentType, headers, ...input }) => {
      const typed = { ...headers, ...(contentType === undefined ? {} : { 'content-type': contentType }) }
      return send(id, { ...input, headers: typed, isBytes: true })
    },
  }
}

// Pages that came over plain HTTP lack crypto.randomUUID.
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

interface LooseInput extends CallOptions {
  path?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
  isBytes: boolean
}
