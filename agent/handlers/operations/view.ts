import type { OperationResource } from '../../../shared/schemas/operations.ts'
import { timestamp } from '../../../shared/time.ts'
import type { OperationState } from '../../core/operations/operations.ts'

/** Returns the operation in the form of the API. */
export function viewOperation({ record, outcome, progress }: OperationState): OperationResource {
  const resource = 'resource' in record ? record.resource : `/v1/projects/${record.project}/boxes/${record.name}`
  return {
    id: record.id,
    kind: record.kind,
    status: outcome.status,
    progress,
    resource,
    error: outcome.error && { ...outcome.error },
    created_at: timestamp(record.createdAt),
    ended_at: outcome.endedAt === null ? null : timestamp(outcome.endedAt),
  }
}

/** Returns the header that names the operation to wait on. */
export function operationLocation(id: string): Record<string, string> {
  return { 'operation-location': `/v1/operations/${id}` }
}
