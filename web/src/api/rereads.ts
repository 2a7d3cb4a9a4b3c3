import type { Query } from '@tanstack/react-query'

/** A query of any data. */
export interface AnyQuery extends Pick<Query, 'queryHash' | 'promise' | 'invalidate' | 'isActive' | 'isStatic'> {
  readonly state: Pick<Query['state'], 'data' | 'fetchStatus'>
  fetch(options: undefined, how: { cancelRefetch: boolean }): Promise<unknown>
}

/** Reads queries again, so that a request from before an event never has the last word. */
export interface Rereads {
  /**
   * Resolves once a read has ended that began after the call. Cancels a read that another caller began. Does not cancel its own, because a
   * series of events could then postpone it forever. That read ends, and one more follows.
   */
  read(query: AnyQuery): Promise<void>
  /** Reads a query again if it is on screen. Otherwise the next page that shows it reads it. */
  refresh(query: AnyQuery): Promise<void>
}

/** Creates the rereads, which know the reads that they began. */
export function createRereads(): Rereads {
  const under = new Map<string, { isAgain: boolean; ended: Promise<void> }>()
  const run = async (query: AnyQuery): Promise<void> => {
    // Nothing is shown yet, so the first read serves everyone who waits for it.
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
  // The state of the query holds a failure.
  await read?.catch(() => undefined)
}
