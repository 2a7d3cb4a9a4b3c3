import type { Query } from '@tanstack/react-query'

/** A query of any data. */
export interface AnyQuery extends Pick<Query, 'queryHash' | 'promise' | 'invalidate' | 'isActive' | 'isStatic'> {
  readonly state: Pick<Query['state'], 'data' | 'fetchStatus'>
  fetch(options: undefined, how: { cancelRefetch: boolean }): Promise<unknown>
}

/** Reads queries again, so that what was asked for before an event is never the last word. */
export interface Rereads {
  /**
   * Resolves once a read has ended that began after the call. A read under way is cancelled; one that was begun here is not, since events in
   * a row could put it off for ever: it ends, and one more follows.
   */
  read(query: AnyQuery): Promise<void>
  /** Reads a query again if it is on screen; else it is read when it is shown the next time. */
  refresh(query: AnyQuery): Promise<void>
}

/** Creates what knows the reads that it has begun. */
export function createRereads(): Rereads {
  const under = new Map<string, { isAgain: boolean; ended: Promise<void> }>()
  const run = async (query: AnyQuery): Promise<void> => {
    // Nothing is shown yet: whoever waits for the first read gets that.
    if (isFirstRead(query)) await ended(query.promise)
    do {
      const now = under.get(query.queryHash)
      if (now) now.isAgain = false
      await ended(query.fetch(undefined, { cancelRefetch: true }))
    } while (under.get(query.queryHash)?.isAgain === true)
    under.delete(query.queryHash)
  }
  const rereads: Rereads = {
    read: (query) => {
      const now = under.get(query.queryHash)
      if (now) {
        now.isAgain = true
        return now.ended
      }
      const begun = { isAgain: false, ended: Promise.resolve() }
      under.set(query.queryHash, begun)
      begun.ended = run(query)
      return begun.ended
    },
    refresh: async (query) => {
      if (!query.isActive() && query.state.fetchStatus !== 'idle') await ended(query.promise)
      if (!query.isActive()) query.invalidate()
      else if (!query.isStatic()) await rereads.read(query)
    },
  }
  return rereads
}

function isFirstRead({ state }: AnyQuery): boolean {
  return state.fetchStatus !== 'idle' && state.data === undefined
}

async function ended(read: Promise<unknown> | undefined): Promise<void> {
  // What fails is in the state of the query.
  await read?.catch(() => undefined)
}
