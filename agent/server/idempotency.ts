import { createHash } from 'node:crypto'
import { ServiceError } from '../../shared/errors.ts'
import type { HttpResponse } from '../../shared/http/messages.ts'
import { refusal } from '../../shared/refusals.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { IdempotencyStore, StoredAnswer } from '../ports/store/idempotency.ts'

/** The fields of a request with an Idempotency-Key that identify a repeat. */
export interface KeyedRequest {
  tokenId: string
  /** The account that kept answers count against. */
  account: string
  key: string
  method: string
  target: string
  body: Uint8Array
}

/** A response, and the answer to store for repeats. Null: store nothing. */
export interface RememberedResponse {
  response: HttpResponse
  replay: StoredAnswer | null
}

/**
 * Runs `work` once for each key of a token. A repeat gets the stored answer (docs/api.md#idempotency).
 * @throws ServiceError `idempotency_key_reused`, `idempotency_in_progress`, and the errors of `work`
 */
export async function runOnce(
  request: KeyedRequest,
  deps: { store: IdempotencyStore; clock: Clock; read(answer: StoredAnswer): Promise<StoredAnswer> },
  work: () => Promise<RememberedResponse>,
): Promise<HttpResponse> {
  const { tokenId: token, key, account } = request
  const fingerprint = fingerprintOf(request)
  const entry = await deps.store.begin({ token, key, account, fingerprint, now: deps.clock.now() })
  if (!entry) return runFirst(request, deps.store, work)
  if (entry.fingerprint !== fingerprint) {
    throw new ServiceError(
      'idempotency_key_reused',
      'This Idempotency-Key was already used for another request. Send a new key.',
    )
  }
  if (!entry.answer) {
    throw refusal(
      'idempotency_in_progress',
      [
        'The first request with this Idempotency-Key still runs.',
        'Send the request again when that has ended, to get the same answer.',
      ],
      {
        headers: { 'Retry-After': '1' },
      },
    )
  }
  const { status, headers, body } = entry.answer.read === undefined ? entry.answer : await deps.read(entry.answer)
  return { status, headers: { ...headers, 'idempotent-replayed': 'true' }, body: body === '' ? null : body }
}

async function runFirst(
  { tokenId, key }: KeyedRequest,
  store: IdempotencyStore,
  work: () => Promise<RememberedResponse>,
): Promise<HttpResponse> {
  let isRemembered = false
  try {
    const { response, replay } = await work()
    if (replay) {
      await store.finish(tokenId, key, replay)
      isRemembered = true
    }
    return response
  } finally {
    if (!isRemembered) await store.drop(tokenId, key)
  }
}

function fingerprintOf({ method, target, body }: KeyedRequest): string {
  return createHash('sha256').update(`${method}\n${target}\n`).update(body).digest('base64url')
}
