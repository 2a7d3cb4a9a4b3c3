/** Listeners of a repeated event. Each gets a `T`. */
export interface Listeners<T = void> {
  /** Adds a listener. Returns a function that removes it. */
  add(listener: (value: T) => void): () => void
  notify(value: T): void
}

/** Creates an empty set of listeners. */
export function createListeners<T = void>(): Listeners<T> {
  const listeners = new Set<(value: T) => void>()
  return {
    add: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify: (value) => {
      for (const listener of [...listeners]) listener(value)
    },
  }
}
