import type { EventFeed } from '../core/event-feed.ts'
import type { Handlers } from './call.ts'

/** Events over HTTP. */
export function createEventHandlers({ feed }: { feed: EventFeed }): Pick<Handlers, 'listEvents'> {
  return {
    listEvents: async ({ params, query, caller }) => {
      const { events, hasMore, nextCursor } = await feed.read(caller, params.project, query)
      return { body: { events, has_more: hasMore, next_cursor: nextCursor } }
    },
  }
}
