import type { EventView } from '../../../shared/schemas/events.ts'
import { timestamp } from '../../../shared/time.ts'
import type { FeedItem } from '../../core/events/feed.ts'
import type { AuditRecord, EventRecord } from '../../ports/store/events.ts'

/** Returns the event in the form of the API. */
export function viewEvent({ id, at, type, project, resource, actor, requestId, data }: EventRecord): EventView {
  return { id, ts: timestamp(at), type, project, resource, actor, request_id: requestId, data }
}

/** Returns the content of a message of a stream. */
export function viewItem(item: FeedItem): unknown {
  return 'event' in item ? viewEvent(item.event) : { cells: item.missing }
}

/** Returns the field that names unreachable cells, or none if all can be reached. */
export function viewMissing(missing: readonly string[]): { missing_cells?: readonly string[] } {
  return missing.length === 0 ? {} : { missing_cells: missing }
}

/** Returns the entry of the audit log in the form of the API. */
export function viewEntry(record: AuditRecord) {
  const { at, operation, method, target, project, actor, status, code } = record
  return {
    ...{ ts: timestamp(at), operation, method, target, project, actor, actor_name: record.actorName },
    ...{ client_address: record.clientAddress, request_id: record.requestId, duration_ms: record.durationMs },
    ...{ status, code, command: record.command ?? null, command_truncated: record.isCommandCut ?? false },
  }
}
