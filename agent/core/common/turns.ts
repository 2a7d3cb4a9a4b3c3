import type { ActorContext, InTurn } from '../../ports/store/events.ts'

/**
 * Returns the fair queue of the current request, for its work after a wait. Thousands of requests may have waited for the same event,
 * and their reads and responses may be long. Work of the service itself does not queue.
 */
export function turnsOf(context: Pick<ActorContext, 'current'>): InTurn {
  const actor = context.current()
  return actor?.inTurn ?? atOnce
}

const atOnce: InTurn = (work) => work((part) => part())
