/** Every error code with its HTTP status, title and retry advice. `problem-texts.ts` explains each (docs/api.md#errors). */
const PROBLEMS = {
  invalid_request: [400, 'Invalid request', false],
  invalid_json: [400, 'Invalid JSON', false],
  environment_reserved: [400, 'Reserved environment name', false],
  base_and_fork: [400, 'Base and fork together', false],
  path_invalid: [400, 'Invalid path', false],
  token_missing: [401, 'Token missing', false],
  token_invalid: [401, 'Token invalid', false],
  token_expired: [401, 'Token expired', false],
  token_revoked: [401, 'Token revoked', false],
  permission_denied: [403, 'Permission denied', false],
  nesting_not_allowed: [403, 'Nesting not allowed', false],
  quota_exceeded: [403, 'Quota exceeded', false],
  route_not_found: [404, 'Route not found', false],
  box_not_found: [404, 'Box not found', false],
  base_not_found: [404, 'Base not found', false],
  volume_not_found: [404, 'Volume not found', false],
  snapshot_not_found: [404, 'Snapshot not found', false],
  backup_not_found: [404, 'Backup not found', false],
  service_not_found: [404, 'Service not found', false],
  exec_not_found: [404, 'Exec not found', false],
  session_not_found: [404, 'Session not found', false],
  operation_not_found: [404, 'Operation not found', false],
  token_not_found: [404, 'Token not found', false],
  file_not_found: [404, 'File not found', false],
  method_not_allowed: [405, 'Method not allowed', false],
  name_taken: [409, 'Name taken', false],
  box_not_running: [409, 'Box not running', false],
  box_busy: [409, 'Box busy', true],
  volume_in_use: [409, 'Volume in use', false],
  volume_on_other_node: [409, 'Volume on another node', false],
  volume_busy: [409, 'Volume busy', true],
  volume_too_small: [409, 'Volume too small', false],
  mount_path_taken: [409, 'Mount path taken', false],
  not_attached: [409, 'Not attached', false],
  domain_taken: [409, 'Domain taken', false],
  domain_unverified: [409, 'Domain not verified', false],
  no_preview: [409, 'No preview', false],
  preview_not_ready: [409, 'Preview not ready', true],
  nothing_to_roll_back: [409, 'Nothing to roll back', false],
  backup_damaged: [409, 'Backup damaged', false],
  port_not_listening: [409, 'Port not listening', true],
  below_use: [409, 'Below use', false],
  idempotency_in_progress: [409, 'Idempotent request in progress', true],
  directory_not_empty: [409, 'Directory not empty', false],
  not_a_directory: [409, 'Not a directory', false],
  is_a_directory: [409, 'Is a directory', false],
  cursor_expired: [410, 'Cursor expired', false],
  precondition_failed: [412, 'Precondition failed', false],
  body_too_large: [413, 'Body too large', false],
  unsupported_media_type: [415, 'Unsupported media type', false],
  range_not_satisfiable: [416, 'Range not satisfiable', false],
  misdirected_request: [421, 'Misdirected request', false],
  idempotency_key_reused: [422, 'Idempotency key reused', false],
  upgrade_required: [426, 'Upgrade required', false],
  rate_limited: [429, 'Rate limited', true],
  headers_too_large: [431, 'Headers too large', false],
  internal: [500, 'Internal error', true],
  port_unreachable: [502, 'Port unreachable', true],
  agent_protocol: [502, 'Agent protocol error', false],
  agent_unavailable: [503, 'Agent unavailable', true],
  draining: [503, 'Draining', true],
  runtime_unavailable: [503, 'Runtime unavailable', true],
  agent_timeout: [504, 'Agent timeout', true],
  storage_full: [507, 'Storage full', false],
} as const satisfies Record<string, readonly [status: number, title: string, retryable: boolean]>

/** One of the closed list of error codes. Each maps to exactly one status. */
export type ErrorCode = keyof typeof PROBLEMS

/** The error codes of a status. */
export type CodeOf<Status extends number> = {
  [Code in ErrorCode]: (typeof PROBLEMS)[Code][0] extends Status ? Code : never
}[ErrorCode]

/** One fault in a request, at an RFC 6901 JSON Pointer into the body, or at `/query/…`, `/path/…` or `/headers/…`. */
export interface FieldFault {
  pointer: string
  detail: string
}

/** The only error body of the API, RFC 9457 `application/problem+json` (docs/api.md#errors). */
export interface Problem {
  /** Path at the answering origin that explains the code. */
  type: string
  title: string
  status: number
  detail: string
  code: ErrorCode
  request_id: string
  retryable: boolean
  errors?: FieldFault[]
}

export interface ServiceErrorOptions {
  /** The underlying error: logged under the request id, never sent. */
  cause?: unknown
  /** Only with `invalid_request`. */
  errors?: FieldFault[]
  /** Extra response headers, such as `Allow` or `Retry-After`. */
  headers?: Record<string, string>
}

/** The error of the API: `detail` is written for the client and carries no path, host, stack or secret of the deployment. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly status: number
  readonly errors: FieldFault[] | undefined
  readonly headers: Record<string, string>

  constructor(code: ErrorCode, detail: string, options: ServiceErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = PROBLEMS[code][0]
    this.errors = options.errors
    this.headers = options.headers ?? {}
  }
}

/**
 * Converts any thrown value to a ServiceError, with a foreign one as `cause`. A system call or program with a full disk becomes
 * `storage_full`, and everything else `internal`.
 */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (isFullDisk(error))
    return new ServiceError(
      'storage_full',
      'A disk of this host is full. Delete what is not needed, or ask its operator for room.',
      {
        cause: error,
      },
    )
  return new ServiceError('internal', 'The service failed unexpectedly, and logged the cause with the request id.', {
    cause: error,
  })
}

/** Returns true for errors with the code of a full disk, but not of a limit that the kernel reports by the same code. */
function isFullDisk(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false
  const { code, errno, syscall } = error as { code: unknown; errno?: unknown; syscall?: unknown }
  // Node has no name for the number of EDQUOT.
  const isFull = code === 'ENOSPC' || code === 'EDQUOT' || errno === -EDQUOT
  return isFull && !NO_DISK.has(String(syscall))
}

const EDQUOT = 122
/** System calls that create watches and namespaces, whose number is limited. */
const NO_DISK: ReadonlySet<string> = new Set(['watch', 'inotify_add_watch', 'unshare', 'clone', 'clone3', 'setns'])

/**
 * Paths of the problem types at the API and at hosts of boxes, where only `/.boxyard/` is reserved. A `type` is a path because no process
 * knows every origin from which it is read. A client resolves it against the origin of the answer (RFC 9457, 3.1.1).
 */
export type ProblemTypesPath = '/problems' | '/.boxyard/problems'

/** Returns the problem body for `error`, with the path of its explanation. */
export function problemOf(error: ServiceError, requestId: string, types: ProblemTypesPath = '/problems'): Problem {
  const { status, title, retryable } = problemFacts(error.code)
  return {
    type: `${types}/${error.code}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    request_id: requestId,
    retryable,
    ...(error.errors ? { errors: error.errors } : {}),
  }
}

/** Returns the status, title and retry advice of a code. */
export function problemFacts(code: ErrorCode): { status: number; title: string; retryable: boolean } {
  const [status, title, retryable] = PROBLEMS[code]
  return { status, title, retryable }
}

/** Returns the error for a problem type of an unknown code. */
export function problemTypeNotFound(types: ProblemTypesPath): ServiceError {
  return new ServiceError('route_not_found', `There is no problem with this code. \`GET ${types}\` lists all.`)
}

/** Returns true if `code` is one of the closed list. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(PROBLEMS, code)
}

/** Every code with its status, for the OpenAPI document and the tests. */
export const ERROR_STATUSES: ReadonlyMap<ErrorCode, number> = new Map(
  Object.entries(PROBLEMS).map(([code, [status]]) => [code as ErrorCode, status]),
)
