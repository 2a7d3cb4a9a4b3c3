import type { AuditTrail } from '../core/audit-trail.ts'
import { timestamp } from '../core/box-view.ts'
import type { EventFeed } from '../core/event-feed.ts'
import type { AuditRecord } from '../ports/histories.ts'
import type { Handlers } from './call.ts'
import { answerBytesMaxOf, type ElsewhereDeps, elsewhere } from './elsewhere.ts'

type HistoryHandlers = Pick<Handlers, 'listEvents' | 'listAudit'>

/** Events, and the audit log, over HTTP. */
export function createHistoryHandlers(deps: ElsewhereDeps & { feed: EventFeed; trail: AuditTrail }): HistoryHandlers {
  const { feed, trail } = deps
  return {
    listEvents: async (call) => {
      const { params, query, caller } = call
      if (call.accept?.includes(EVENT_STREAM) === true) {
        // A function cannot carry what has no end.
        if (answerBytesMaxOf(call) !== null) return elsewhere(deps, call, null)
        const since = call.lastEventId ?? query.since
        const bytes = await feed.follow(caller, params.project, { ...query, since })
        return { body: null, bytes, headers: { 'content-type': EVENT_STREAM, 'cache-control': 'no-store' } }
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

const EVENT_STREAM = 'text/event-stream'
