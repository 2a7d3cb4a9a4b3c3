/** Listeners of a repeated event. */
export interface Listeners {
  /** Adds a listener; returns a function that removes it. */
  add(listener: () => void): () => void
  notify(): void
}

/** Creates an empty set of listeners. */
export function createListeners(): Listeners {
  const listeners = new Set<() => void>()
  return {
    add: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify: () => {
      for (const listener of [...listeners]) listener()
    },
  }
}
