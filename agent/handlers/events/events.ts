import { timestamp } from '../../../shared/time.ts'
import type { AuditTrail } from '../../core/events/audit-trail.ts'
import type { EventFeed } from '../../core/events/feed.ts'
import type { AuditRecord } from '../../ports/store/events.ts'
import type { Handlers } from '../common/call.ts'
import { isStreamAsked, type RedirectDeps, streamOrRedirect } from '../common/data-address-redirect.ts'

type EventHandlers = Pick<Handlers, 'listEvents' | 'listAudit'>

/** Handles events and the audit log. */
export function createHistoryHandlers(deps: RedirectDeps & { feed: EventFeed; trail: AuditTrail }): EventHandlers {
  const { feed, trail } = deps
  return {
    listEvents: async (call) => {
      const { params, query, caller } = call
      if (isStreamAsked(call)) {
        const since = call.lastEventId ?? query.since
        const open = () => feed.follow(caller, params.project, { ...query, since })
        return streamOrRedirect(deps, { call, boxId: null }, open)
      }
      const { events, hasMore, nextCursor } = await feed.read(caller, params.project, query)
      return { body: { events, has_more: hasMore, next_cursor: nextCursor } }
    },
    listAudit: async ({ query, caller }) => {
      const { records, next } = await trail.list(caller, query)
      return { body: { entries: records.map(viewEntry), has_more: next !== null, next_continuation_token: next } }
    },
  }
}

function viewEntry(record: AuditRecord) {
  const { at, operation, method, target, project, actor, status, code } = record
  return {
    ...{ ts: timestamp(at), operation, method, target, project, actor, actor_name: record.actorName },
    ...{ client_address: record.clientAddress, request_id: record.requestId, duration_ms: record.durationMs },
    ...{ status, code },
  }
}
