import type { AuditLog } from '../../core/events/audit-list.ts'
import type { EventFeed } from '../../core/events/feed.ts'
import type { Handlers } from '../common/call.ts'
import { isStreamAsked, type RedirectDeps, streamOrRedirect } from '../common/data-address-redirect.ts'
import { encodeEventStream } from '../common/event-stream.ts'
import { viewEntry, viewEvent, viewItem, viewMissing } from './view.ts'

type EventHandlers = Pick<Handlers, 'listEvents' | 'listAudit'>

/** Handles events and the audit log. */
export function createHistoryHandlers(deps: RedirectDeps & { feed: EventFeed; auditLog: AuditLog }): EventHandlers {
  const { feed, auditLog } = deps
  return {
    listEvents: async (call) => {
      const { params, query, caller } = call
      if (isStreamAsked(call)) {
        const since = call.lastEventId ?? query.since
        const open = async () =>
          encodeEventStream(await feed.follow(caller, params.project, { ...query, since }), viewItem)
        return streamOrRedirect(deps, { call, boxId: null }, open)
      }
      const { events, hasMore, nextCursor, missing } = await feed.read(caller, params.project, query)
      const body = { events: events.map(viewEvent), has_more: hasMore, next_cursor: nextCursor }
      return { body: { ...body, ...viewMissing(missing) } }
    },
    listAudit: async ({ query, caller }) => {
      const { records, next, missing } = await auditLog.list(caller, query)
      const body = { entries: records.map(viewEntry), has_more: next !== null, next_continuation_token: next }
      return { body: { ...body, ...viewMissing(missing) } }
    },
  }
}
