/** A fault of a request. `pointer` (RFC 6901) leads to it. */
export interface RequestFault {
  pointer: string
  detail: string
}

/** Fields of a problem of the API (RFC 9457). */
export interface ProblemFields {
  code: string
  status: number
  detail: string
  requestId: string | null
  retryable: boolean
  errors: readonly RequestFault[]
}

/** An error response of the API. Each code has its own class, and a code that this version does not know is a plain `ApiError`. */
export class ApiError extends Error {
  readonly code: string
  readonly status: number
  readonly requestId: string | null
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** Faults of the request, only with `invalid_request`. */
  readonly errors: readonly RequestFault[]
  /** The body of the answer, parsed if it is JSON. */
  readonly body: unknown

  constructor(fields: ProblemFields, body: unknown) {
    super(fields.detail)
    this.name = new.target.name
    this.code = fields.code
    this.status = fields.status
    this.requestId = fields.requestId
    this.retryable = fields.retryable
    this.errors = fields.errors
    this.body = body
  }
}

/** The service could not be reached, or a stream to it broke off and cannot be resumed. */
export class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError'
}

/**
 * The client dropped the stream because output arrived faster than the program read it. Most browsers read a WebSocket even if the page
 * does not consume its messages.
 */
export class OverflowError extends ConnectionError {
  override readonly name = 'OverflowError'
}
