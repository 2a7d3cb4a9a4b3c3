import type { CommitListener, EventScope } from '../../ports/store/events.ts'

/** Tells those who wait for events that there are some. */
export interface EventNotices {
  /** Runs `work` with a promise that resolves soon after the next commit of events in `scope`. */
  during<T>(scope: EventScope, work: (noticed: Promise<void>) => Promise<T>): Promise<T>
}

/** What commits events. */
export interface EventWriter {
  onCommit(listener: CommitListener): () => void
}

/** Creates notices of what the writers commit, in rounds 20 ms apart, so that many commits wake a waiter seldom. */
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
