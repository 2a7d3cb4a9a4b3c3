/** Those who want to know of something that happens again and again. */
export interface Listeners {
  /** Returns what takes the listener out again. */
  add(listener: () => void): () => void
  notify(): void
}

/** No listeners yet. */
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
