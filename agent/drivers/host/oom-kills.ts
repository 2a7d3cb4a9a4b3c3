/** When processes of boxes were ended by the kernel for want of memory, as far as its counters tell. */
export interface OomKills {
  /** How many of a box have been, in all. */
  count(boxId: string): number
  /** Whether a kill seen now may be one of those: there are more than `since`, and the last was first seen in the last 2 s. */
  isRecent(boxId: string, since: number): boolean
  forget(boxId: string): void
  /** Looks at the box every second until what is returned is called, so that a kill is not first seen long after it was. */
  watch(boxId: string): () => void
}

/** `read` tells the kernel's counter of a box; `now` is in ms. Nobody tells of a kill: it is seen when one looks. */
export function createOomKills(read: (boxId: string) => number, now: () => number): OomKills {
  const seen = new Map<string, { count: number; roseAt: number }>()
  const look = (boxId: string): { count: number; roseAt: number } => {
    const count = read(boxId)
    const before = seen.get(boxId)
    if (before?.count === count) return before
    const state = { count, roseAt: now() }
    if (count > 0) seen.set(boxId, state)
    else seen.delete(boxId)
    return state
  }
  return {
    count: (boxId) => look(boxId).count,
    isRecent: (boxId, since) => {
      const { count, roseAt } = look(boxId)
      return count > since && now() - roseAt < RECENT_MS
    },
    forget: (boxId) => void seen.delete(boxId),
    watch: createWatch(look),
  }
}

/** One timer for all, while there is something to look at. */
function createWatch(look: (boxId: string) => unknown): (boxId: string) => () => void {
  const watched = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  const lookAtAll = (): void => {
    for (const boxId of watched.keys()) look(boxId)
  }
  return (boxId) => {
    if (watched.size === 0) timer = setInterval(lookAtAll, LOOK_MS).unref()
    watched.set(boxId, (watched.get(boxId) ?? 0) + 1)
    return () => {
      const left = (watched.get(boxId) ?? 0) - 1
      if (left > 0) watched.set(boxId, left)
      else watched.delete(boxId)
      if (watched.size === 0) clearInterval(timer)
    }
  }
}

const LOOK_MS = 1_000
// A process that takes long to die of it is one of many that do.
const RECENT_MS = 2_000
