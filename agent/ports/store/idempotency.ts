/** The entry of a key. The answer is null while the first request still runs. */
export interface IdempotencyEntry {
  fingerprint: string
  answer: StoredAnswer | null
}

/** The answer that repeats of a request get. */
export interface StoredAnswer {
  status: number
  headers: Record<string, string>
  body: string
  /** A read to repeat in place of `body`, or of one field of it. It is opaque to the store. */
  read?: unknown
}

/** The answer of one request, stored in the commit of its effect. */
export interface KeyedAnswer {
  token: string
  key: string
  answer: StoredAnswer
}

/** Stores requests with an Idempotency-Key, and their answers. */
export interface IdempotencyStore {
  /** Reserves a key for this process. Returns null if it was free, else its entry. Kept answers count against the account. */
  begin(request: {
    token: string
    key: string
    fingerprint: string
    now: number
    account: string
  }): Promise<IdempotencyEntry | null>
  finish(token: string, key: string, answer: StoredAnswer): Promise<void>
  /** Deletes the key of a request without an effect, unless it has an answer. */
  drop(token: string, key: string): Promise<void>
  /** Deletes keys made before `createdBefore`, and with `unfinished` those that an earlier process left without an answer. */
  prune(createdBefore: number, options: { unfinished: boolean }): Promise<void>
  /** Deletes the oldest answers, from the accounts that have most, until all together use at most `keepBytes`. */
  bound(keepBytes: number): Promise<void>
}
