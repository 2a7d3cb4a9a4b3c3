/** Detects a flood, which is output that arrives faster than the page shows it. */
export class Flood {
  readonly #now: () => number
  #since = 0
  #lastAt = Number.NEGATIVE_INFINITY
  #bytes = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Counts output that arrived. */
  take(bytes: number): void {
    const now = this.#now()
    if (now - this.#lastAt > GAP_MS) {
      this.#since = now
      this.#bytes = 0
    }
    this.#lastAt = now
    this.#bytes += bytes
  }

  isOn(): boolean {
    const now = this.#now()
    const seconds = Math.max(now - this.#since, GAP_MS) / 1000
    return now - this.#lastAt <= GAP_MS && this.#bytes > FLOOD_BYTES && this.#bytes / seconds > FLOOD_BYTES_PER_SECOND
  }
}

/** Output after such a pause starts a new measurement. */
const GAP_MS = 300
const FLOOD_BYTES = 128 * 1024
/** More than an interactive program such as `top` writes. */
const FLOOD_BYTES_PER_SECOND = 64 * 1024
