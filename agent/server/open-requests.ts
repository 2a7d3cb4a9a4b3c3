import { ServiceError } from '../../shared/errors.ts'
import type { ToldBytes } from '../../shared/http/messages.ts'
import type { Caller } from '../core/common/caller.ts'

/** A request that is open, from its admission to its end. */
export interface RegisteredRequest {
  /** Aborts when the token of the request ends, with the ServiceError `token_revoked` or `token_expired`. */
  readonly signal: AbortSignal
  /** Removes the request from the register. Does nothing the second time. */
  close(): void
}

export interface OpenRequestsDeps {
  clock: { now(): number }
  /** @throws ServiceError if the token, or one that it was created with, was revoked */
  checkAlive(tokenId: string): Promise<void>
}

/**
 * The register of open requests and WebSockets by their token. Call `endRevoked` after each revocation and `endExpired` several times a
 * second. Everything that a token opened then ends within a second of the token.
 */
export class OpenRequests {
  readonly #deps: OpenRequestsDeps
  readonly #byToken = new Map<string, Set<Entry>>()

  constructor(deps: OpenRequestsDeps) {
    this.#deps = deps
  }

  /** Number of open requests of all tokens. */
  get size(): number {
    let size = 0
    for (const entries of this.#byToken.values()) size += entries.size
    return size
  }

  /** Registers a request. Call it before the token is checked, so that a revocation in between is not missed. */
  open({ tokenId, expiresAt }: Pick<Caller, 'tokenId' | 'expiresAt'>): RegisteredRequest {
    const entry: Entry = { end: new AbortController(), expiresAt }
    const entries = this.#byToken.get(tokenId) ?? new Set()
    this.#byToken.set(tokenId, entries.add(entry))
    return {
      signal: entry.end.signal,
      close: () => {
        entries.delete(entry)
        if (entries.size === 0 && this.#byToken.get(tokenId) === entries) this.#byToken.delete(tokenId)
      },
    }
  }

  /** Ends the requests whose token is no longer valid. Rejects if a token cannot be checked, but still ends the others. */
  async endRevoked(): Promise<void> {
    const checks = [...this.#byToken.keys()].map(async (tokenId) => {
      try {
        await this.#deps.checkAlive(tokenId)
      } catch (error) {
        if (!(error instanceof ServiceError && error.status === 401)) throw error
        this.#end(tokenId, () => error)
      }
    })
    const failed = (await Promise.allSettled(checks)).find((check) => check.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  /** Ends the requests whose token has expired by now. */
  endExpired(): void {
    const now = this.#deps.clock.now()
    for (const tokenId of this.#byToken.keys()) {
      this.#end(tokenId, ({ expiresAt }) =>
        expiresAt !== null && expiresAt <= now ? new ServiceError('token_expired', 'The token has expired.') : null,
      )
    }
  }

  #end(tokenId: string, reasonOf: (entry: Entry) => ServiceError | null): void {
    for (const entry of this.#byToken.get(tokenId) ?? []) {
      const reason = reasonOf(entry)
      if (reason !== null) entry.end.abort(reason)
    }
  }
}

interface Entry {
  end: AbortController
  /** Milliseconds since the epoch. Null: no expiry. */
  expiresAt: number | null
}

/** Resolves as `work` does, or rejects with the reason of the signal as soon as it aborts. `work` then continues unobserved. */
export function untilEnded<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(signal.reason as Error)
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}

/**
 * Passes bytes on until the signal aborts, which ends the source. If the source can report the reason in a last piece, it does. Otherwise
 * it throws that reason. Calls `onEnd` once at either end, also if the reader leaves before it has read anything. The `finally` of a
 * generator would miss that.
 */
export function bytesUntilEnded(
  bytes: AsyncIterable<Uint8Array> | ToldBytes,
  signal: AbortSignal,
  onEnd: () => void = () => undefined,
): AsyncIterableIterator<Uint8Array> {
  const source = bytes[Symbol.asyncIterator]()
  let isOver = false
  const leave = async (): Promise<void> => {
    onEnd()
    await source.return?.()
  }
  const passed: AsyncIterableIterator<Uint8Array> = {
    next: async () => {
      if (isOver) return { done: true, value: undefined }
      try {
        const step = await untilEnded(signal, source.next())
        if (step.done === true) onEnd()
        return step
      } catch (error) {
        // A source that waits for its next piece settles this only later.
        void leave().catch(() => undefined)
        if (error !== signal.reason || !('lastPiece' in bytes)) throw error
        isOver = true
        return { done: false, value: bytes.lastPiece(error as ServiceError) }
      }
    },
    return: async () => {
      await leave()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => passed,
  }
  return passed
}
