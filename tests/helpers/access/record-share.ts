import { recordGrowth } from '../../../agent/core/common/record-bytes.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../boxes/box-records.ts'
import { openAdmission } from './admission.ts'

/** The space for records in an empty store. It fits `total` boxes of equal size. */
export interface RecordShare {
  total: number
  /** Inserts another box of a project. Rejects when `Admission.admit` does. */
  insert(project: string): Promise<unknown>
}

export function createRecordShare(store: Store): RecordShare {
  const total = 16
  const admission = openAdmission(store, { recordBytes: total * EACH_BYTES })
  return {
    total,
    insert: (project) => {
      const id = newId('box', Date.now())
      const record = padded(boxRecord({ id, project, name: id.replace('_', '-') }))
      const growth = { project, recordBytes: recordGrowth(null, record) }
      return admission.admit(growth, () => store.boxes.insert(record))
    },
  }
}

function padded(record: BoxRecord): BoxRecord {
  const filled = (length: number): BoxRecord => ({ ...record, environment: { PAD: 'x'.repeat(length) } })
  return filled(EACH_BYTES - recordGrowth(null, filled(0)))
}

const EACH_BYTES = 8_192
