/** A stored answer, or null while the first request still runs. */
export interface IdempotencyEntry {
  fingerprint: string
  answer: StoredAnswer | null
}

/** What a repeat of a request is answered with. */
export interface StoredAnswer {
  status: number
  headers: Record<string, string>
  body: string
  /** What is read instead of `body`, or of a part of it; its form is the server's. */
  read?: unknown
}

/** What a repeat of one request is answered with; kept by whoever does what was asked, in the same commit. */
export interface KeyedAnswer {
  token: string
  key: string
  answer: StoredAnswer
}

/** Requests that carry an Idempotency-Key, and their answers. */
export interface IdempotencyStore {
  /** Reserves the key for this process: null if it was free, else what stands there. */
  begin(request: { token: string; key: string; fingerprint: string; now: number }): Promise<IdempotencyEntry | null>
  finish(token: string, key: string, answer: StoredAnswer): Promise<void>
  /** Frees a key whose request came to nothing; one that has an answer keeps it. */
  drop(token: string, key: string): Promise<void>
  /** Frees keys that a process before this one left unfinished, and those made before `createdBefore`. */
  prune(createdBefore: number, options: { unfinished: boolean }): Promise<void>
}
