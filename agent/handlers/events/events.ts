import type { AuditTrail } from '../../core/events/audit-trail.ts'
import type { EventFeed } from '../../core/events/feed.ts'
import type { Handlers } from '../common/call.ts'
import { isStreamAsked, type RedirectDeps, streamOrRedirect } from '../common/data-address-redirect.ts'
import { encodeEventStream } from '../common/event-stream.ts'
import { viewEntry, viewEvent } from './view.ts'

type EventHandlers = Pick<Handlers, 'listEvents' | 'listAudit'>

/** Handles events and the audit log. */
export function createHistoryHandlers(deps: RedirectDeps & { feed: EventFeed; trail: AuditTrail }): EventHandlers {
  const { feed, trail } = deps
  return {
    listEvents: async (call) => {
      const { params, query, caller } = call
      if (isStreamAsked(call)) {
        const since = call.lastEventId ?? query.since
        const open = async () =>
          encodeEventStream(await feed.follow(caller, params.project, { ...query, since }), viewEvent)
        return streamOrRedirect(deps, { call, boxId: null }, open)
      }
      const { events, hasMore, nextCursor } = await feed.read(caller, params.project, query)
      return { body: { events: events.map(viewEvent), has_more: hasMore, next_cursor: nextCursor } }
    },
    listAudit: async ({ query, caller }) => {
      const { records, next } = await trail.list(caller, query)
      return { body: { entries: records.map(viewEntry), has_more: next !== null, next_continuation_token: next } }
    },
  }
}
