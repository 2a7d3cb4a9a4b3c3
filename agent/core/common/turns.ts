import type { ActorContext, InTurn } from '../../ports/store/events.ts'

/**
 * Returns the turns of the request that runs now, for what it does once it has waited: thousands may have waited for the same, and what
 * they read of it and answer may be long. Work of the service itself takes none.
 */
export function turnsOf(context: Pick<ActorContext, 'current'>): InTurn {
  const actor = context.current()
  return actor?.inTurn ?? atOnce
}

const atOnce: InTurn = (work) => work((part) => part())
