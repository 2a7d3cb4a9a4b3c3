import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ServiceRecord } from '../../ports/store/services.ts'

/**
 * Returns by how many bytes a record is longer than `before`, negative if it is shorter. A null `before` means a new record. A service that
 * is not started yet counts as if it were, because its start copies the definition. Pure.
 */
export function recordGrowth(before: BoxRecord | ServiceRecord | null, next: BoxRecord | ServiceRecord): number {
  return recordBytes(next) - (before === null ? 0 : recordBytes(before))
}

// As the store counts what it keeps.
function recordBytes(record: BoxRecord | ServiceRecord): number {
  return bytesOf(record) + ('spec' in record ? Math.max(0, bytesOf(record.spec) - bytesOf(record.active?.spec)) : 0)
}

function bytesOf(value: object | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))
}
