import type { ActorContext } from '../../ports/store/events.ts'

/** Runs what a request does after a wait; see `Actor.inTurn`. */
export type InTurn = <T>(work: (later: <P>(part: () => P) => P) => Promise<T>) => Promise<T>

/**
 * Returns the turns of the request that runs now, for what it does once it has waited: thousands may have waited for the same, and what
 * they read of it and answer may be long. Work of the service itself takes none.
 */
export function turnsOf(context: Pick<ActorContext, 'current'>): InTurn {
  const actor = context.current()
  return (work) => (actor?.inTurn === undefined ? work((part) => part()) : actor.inTurn(work))
}
