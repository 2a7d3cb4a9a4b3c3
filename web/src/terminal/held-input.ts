/** Input that did not reach a session. */
export interface Unsent {
  /** Whether it keeps input that can still be sent. */
  isKept: boolean
  /** Whether it sent input that the connection may have lost. */
  isUnsure: boolean
}

/**
 * Keeps the input typed while no connection is open. During a brief break, as at the start and when the page itself reconnects, sends it
 * afterwards. After a loss the user decides, because a command must not run minutes after it was typed.
 */
export class HeldInput {
  readonly #onUnsent: (unsent: Unsent | null) => void
  #kept: Uint8Array[] = []
  #keptBytes = 0
  #isBrief = true
  /** Whether the user typed something since the session last answered. */
  #isUnheard = false
  #isUnsure = false

  constructor(onUnsent: (unsent: Unsent | null) => void) {
    this.#onUnsent = onUnsent
  }

  get isBrief(): boolean {
    return this.#isBrief
  }

  beginBrief(): void {
    this.#isBrief = true
    this.#isUnheard = false
  }

  /** Ends it: the session is attached, or the connection is lost. */
  endBrief(): void {
    this.#isBrief = false
    this.#isUnsure ||= this.#isUnheard
    this.#isUnheard = false
    this.#tell()
  }

  /** Keeps input. */
  add(bytes: Uint8Array): void {
    if (this.#keptBytes + bytes.length > KEPT_MAX_BYTES) this.#isUnsure = true
    else {
      this.#kept.push(bytes)
      this.#keptBytes += bytes.length
    }
    if (!this.#isBrief) this.#tell()
  }

  /** Notes that input was sent. */
  note(): void {
    this.#isUnheard = true
  }

  /** Notes that output arrived, so the input sent before it has arrived. */
  heard(): void {
    this.#isUnheard = false
  }

  /** Returns the kept input, and forgets it. */
  take(): Uint8Array[] {
    const kept = this.#kept
    this.drop()
    return kept
  }

  drop(): void {
    this.#kept = []
    this.#keptBytes = 0
    this.#isUnsure = false
    this.#tell()
  }

  #tell(): void {
    const isKept = this.#kept.length > 0
    this.#onUnsent(isKept || this.#isUnsure ? { isKept, isUnsure: this.#isUnsure } : null)
  }
}

const KEPT_MAX_BYTES = 64 * 1024
