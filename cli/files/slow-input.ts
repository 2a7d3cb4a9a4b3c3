/**
 * Input that may be silent for a while, such as stdin. Waits for its first piece before a request begins. `fetch` sends the head of a
 * request only with the first piece of its body, and the service waits 15 s for a head.
 */
export class SlowInput {
  readonly #pieces: AsyncIterator<Uint8Array>
  readonly #now: () => number
  #first: IteratorResult<Uint8Array> | null = null
  #waitsSince: number | null = null

  private constructor(pieces: AsyncIterator<Uint8Array>, now: () => number) {
    this.#pieces = pieces
    this.#now = now
  }

  /** Resolves once the input has a piece or ends. Rejects if it fails. `now` is in milliseconds. */
  static async open(pieces: AsyncIterable<Uint8Array>, now = () => performance.now()): Promise<SlowInput> {
    const input = new SlowInput(pieces[Symbol.asyncIterator](), now)
    input.#first = await input.#next()
    return input
  }

  /** Yields all pieces once. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    try {
      for (let next = this.#first; next?.done === false; next = await this.#next()) yield next.value
    } finally {
      void this.#pieces.return?.().catch(() => undefined)
    }
  }

  /** Milliseconds that a reader has now waited for the next piece, or 0 if no reader waits. */
  silentMs(): number {
    return this.#waitsSince === null ? 0 : this.#now() - this.#waitsSince
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    this.#waitsSince = this.#now()
    const next = await this.#pieces.next()
    this.#waitsSince = null
    return next
  }
}

/** The service ends an upload whose input was silent for this long (`BODY_TIMEOUTS` in shared/http). */
const QUIET_SECONDS = 60

/** The service ended an upload because its input was silent. */
export class SilentInputError extends Error {
  override readonly name = 'SilentInputError'

  constructor(wayOut: string, cause: unknown) {
    super(`The input was silent for ${QUIET_SECONDS} s, so the service ended the upload. ${wayOut}`, { cause })
  }
}

/** Returns whether an upload failed because its input was silent. The service may measure a little less. */
export function wasSilent(input: SlowInput): boolean {
  return input.silentMs() >= (QUIET_SECONDS - 5) * 1000
}
