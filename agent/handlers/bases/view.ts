import type { Base } from '../../../shared/schemas/bases.ts'
import { timestamp } from '../../core/common/time.ts'
import type { BaseRecord, BaseUse } from '../../ports/store/bases.ts'

/** The base of the API; `use` null where it was not looked for. */
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
