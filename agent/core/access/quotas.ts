import { createKeyedLock } from '../../../shared/locks.ts'
import type { UpdateQuotaBody } from '../../../shared/schemas/access.ts'
import { timestamp } from '../../../shared/time.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Store } from '../../ports/store/store.ts'
import type { QuotaRecord, Usage } from '../../ports/store/volumes.ts'
import { type Bounds, UNLIMITED_QUOTA } from '../common/admission.ts'
import { checkIfMatch, checkReadOnly } from '../common/preconditions.ts'

export interface QuotasDeps {
  store: Store
  clock: Clock
  defaultQuota: Bounds
  /** True where other cells have the same quota too, each with the time at which it was set there, which no body then needs to know. */
  isShared: boolean
}

/** Quotas of projects. */
export interface Quotas {
  get(project: string): Promise<QuotaState>
  /** @throws ServiceError `precondition_failed` */
  update(project: string, body: UpdateQuotaBody, ifMatch: string | null): Promise<QuotaState>
}

/** A quota and what is in use of it; version 0, without a time, if it was never set. */
export interface QuotaState {
  project: string
  allowed: Bounds
  used: Usage
  updatedAt: number | null
  version: number
}

/** Creates quotas, `defaultQuota` unless set. Lowering one does not take away what is in use. */
export function createQuotas({ store, clock, defaultQuota, isShared }: QuotasDeps): Quotas {
  const stateOf = async (project: string, record: QuotaRecord | null): Promise<QuotaState> => {
    const { updatedAt = null, version = 0 } = record ?? {}
    return { project, allowed: record ?? defaultQuota, used: await store.quotas.usage(project), updatedAt, version }
  }
  const updates = createKeyedLock()
  return {
    get: async (project) => stateOf(project, await store.quotas.get(project)),
    update: (project, body, ifMatch) =>
      updates.run(project, async () => {
        const before = await store.quotas.get(project)
        const version = before?.version ?? 0
        checkIfMatch(ifMatch, version)
        const readOnly = { project, ...(isShared ? {} : { updated_at: before && timestamp(before.updatedAt) }) }
        checkReadOnly(readOnly, body, Object.keys(readOnly))
        const bounds = changedBounds(before ?? defaultQuota, body.allowed)
        const record = { ...bounds, version: version + 1, updatedAt: clock.now() }
        await store.quotas.set(project, record)
        return stateOf(project, record)
      }),
  }
}

function changedBounds(now: Bounds, changes: UpdateQuotaBody['allowed']): Bounds {
  if (changes === null) return UNLIMITED_QUOTA
  const { boxes, cpus, ram_mb: ramMb, storage_gb: storageGb } = changes ?? {}
  return {
    boxes: boxes === undefined ? now.boxes : boxes,
    cpus: cpus === undefined ? now.cpus : cpus,
    ramMb: ramMb === undefined ? now.ramMb : ramMb,
    storageGb: storageGb === undefined ? now.storageGb : storageGb,
  }
}
