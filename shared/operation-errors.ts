import type { ErrorCode } from './errors.ts'
import type { Operation } from './operation.ts'

/** Errors that operations share, by the property that causes them. */
export const SHARED_ERRORS = {
  every: [
    'invalid_request',
    'misdirected_request',
    'rate_limited',
    'internal',
    'agent_protocol',
    'agent_unavailable',
    'draining',
    'agent_timeout',
  ],
  token: ['token_missing', 'token_invalid', 'token_expired', 'token_revoked', 'permission_denied'],
  body: ['invalid_json', 'body_too_large', 'unsupported_media_type'],
  mutation: ['precondition_failed'],
  post: ['idempotency_in_progress', 'idempotency_key_reused'],
} as const satisfies Record<string, readonly ErrorCode[]>

/** Returns every code that an operation can answer, once. */
export function errorsOf({ method, permission, body, errors }: Operation): ReadonlySet<ErrorCode> {
  return new Set<ErrorCode>([
    ...SHARED_ERRORS.every,
    ...errors,
    ...(permission === null ? [] : SHARED_ERRORS.token),
    ...(body === null ? [] : SHARED_ERRORS.body),
    ...(method === 'GET' ? [] : SHARED_ERRORS.mutation),
    ...(method === 'POST' ? SHARED_ERRORS.post : []),
  ])
}
