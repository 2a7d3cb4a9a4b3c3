import type { Base } from '../../../shared/schemas/bases.ts'
import { timestamp } from '../../../shared/time.ts'
import type { BaseRecord, BaseUse } from '../../ports/store/bases.ts'

/** Returns the base in the form of the API. `use` null if it was not read. */
export function viewBase(record: BaseRecord, use: BaseUse | null): Base {
  return {
    id: record.id,
    name: record.name,
    project: record.project,
    version: record.version,
    size_bytes: record.sizeBytes,
    created_at: timestamp(record.createdAt),
    source: record.source,
    used_by: use && { boxes: use.boxes, count: use.count },
  }
}
