import { useSyncExternalStore } from 'react'

/** A choice that this browser remembers. All parts of the page see a change at once. */
export class BrowserChoice<Value> {
  readonly #key: string
  readonly #parse: (kept: string | null) => Value
  readonly #listeners = new Set<() => void>()

  /** @param parse Returns the value for the stored text, which may be anything, or null if nothing is stored */
  constructor(key: string, parse: (kept: string | null) => Value) {
    this.#key = key
    this.#parse = parse
  }

  /** Returns the value now. */
  get value(): Value {
    return this.#parse(localStorage.getItem(this.#key))
  }

  /** Stores a value. Null restores the default. */
  choose(kept: string | null): void {
    if (kept === null) localStorage.removeItem(this.#key)
    else localStorage.setItem(this.#key, kept)
    for (const listener of this.#listeners) listener()
  }

  /** Returns the value as a hook. The value must be a primitive. */
  use(): Value {
    return useSyncExternalStore(this.#watch, () => this.value)
  }

  readonly #watch = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
