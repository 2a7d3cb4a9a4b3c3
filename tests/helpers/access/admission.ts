import { type Admission, createAdmission, UNLIMITED_QUOTA } from '../../../agent/core/common/admission.ts'
import type { Store } from '../../../agent/ports/store/store.ts'

/** Creates the admission check for a large, idle host with the records of `store` and no quotas. For `recordBytes`, see `AdmissionDeps`. */
export function openAdmission(store: Store, bounds: { recordBytes?: number } = {}): Admission {
  const memory = { total_bytes: 64 * GIB, available_bytes: 64 * GIB }
  const limits = { boxesMax: 1000, volumesMax: 1000, memoryOvercommit: 1, memoryReserveBytes: 0 }
  return createAdmission({
    store,
    host: { load: () => ({ memory }) } as never,
    limits,
    defaultQuota: UNLIMITED_QUOTA,
    ...bounds,
  })
}

const GIB = 1024 ** 3
