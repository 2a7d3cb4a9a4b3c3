import type { CommitListener, EventScope } from '../../ports/store/events.ts'

/** Wakes readers that wait for events. */
export interface EventNotices {
  /** Runs `work` with a promise that resolves soon after the next commit of events in `scope`. */
  during<T>(scope: EventScope, work: (noticed: Promise<void>) => Promise<T>): Promise<T>
}

/** Source of commits of events. */
export interface EventWriter {
  onCommit(listener: CommitListener): () => void
}

/** Creates the subscriptions. Wakes waiters at most every 20 ms, so that many commits wake a waiter rarely. */
export function createEventNotices(writers: readonly EventWriter[]): EventNotices {
  const waiting = new Map<() => void, EventScope>()
  const due = new Set<() => void>()
  let isResting = false
  const tell = (): void => {
    if (isResting || due.size === 0) return
    for (const notice of due) notice()
    due.clear()
    isResting = true
    const goOn = (): void => {
      isResting = false
      tell()
    }
    setTimeout(goOn, ROUND_MS).unref()
  }
  const note: CommitListener = (isOf) => {
    for (const [notice, scope] of waiting) if (isOf(scope)) due.add(notice)
    tell()
  }
  for (const writer of writers) writer.onCommit(note)
  return {
    during: async (scope, work) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.set(resolve, scope)
      try {
        return await work(promise)
      } finally {
        waiting.delete(resolve)
        due.delete(resolve)
      }
    },
  }
}

const ROUND_MS = 20
