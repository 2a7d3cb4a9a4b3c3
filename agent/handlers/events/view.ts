import type { EventView } from '../../../shared/schemas/events.ts'
import { timestamp } from '../../../shared/time.ts'
import type { AuditRecord, EventRecord } from '../../ports/store/events.ts'

/** Returns the event in the form of the API. */
export function viewEvent({ id, at, type, project, resource, actor, requestId, data }: EventRecord): EventView {
  return { id, ts: timestamp(at), type, project, resource, actor, request_id: requestId, data }
}

/** Returns the entry of the audit log in the form of the API. */
export function viewEntry(record: AuditRecord) {
  const { at, operation, method, target, project, actor, status, code } = record
  return {
    ...{ ts: timestamp(at), operation, method, target, project, actor, actor_name: record.actorName },
    ...{ client_address: record.clientAddress, request_id: record.requestId, duration_ms: record.durationMs },
    ...{ status, code },
  }
}
