import { createKeyedLock } from '../../../shared/locks.ts'
import type { Quota, UpdateQuotaBody } from '../../../shared/schemas/access.ts'
import { timestamp } from '../../../shared/time.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Store } from '../../ports/store/store.ts'
import type { QuotaRecord } from '../../ports/store/volumes.ts'
import { checkIfMatch, checkReadOnly } from '../common/preconditions.ts'

/** Quotas of projects. */
export interface Quotas {
  get(project: string): Promise<VersionedQuota>
  /** @throws ServiceError `precondition_failed` */
  update(project: string, body: UpdateQuotaBody, ifMatch: string | null): Promise<VersionedQuota>
}

/** A quota with the version of its record; version 0 if it was never set. */
export interface VersionedQuota {
  quota: Quota
  version: number
}

/** Creates quotas, unlimited unless set. Lowering one does not take away what is in use. */
export function createQuotas({ store, clock }: { store: Store; clock: Clock }): Quotas {
  const view = async (project: string, record: QuotaRecord | null): Promise<VersionedQuota> => {
    const { boxes, cpus, ramMb, storageGb } = record ?? UNLIMITED
    const used = await store.quotas.usage(project)
    const quota = {
      project,
      allowed: { boxes, cpus, ram_mb: ramMb, storage_gb: storageGb },
      used: { boxes: used.boxes, cpus: used.cpus, ram_mb: used.ramMb, storage_gb: used.storageGb },
      updated_at: record ? timestamp(record.updatedAt) : null,
    }
    return { quota, version: record?.version ?? 0 }
  }
  const updates = createKeyedLock()
  const get = async (project: string): Promise<VersionedQuota> => view(project, await store.quotas.get(project))
  return {
    get,
    update: (project, body, ifMatch) =>
      updates.run(project, async () => {
        const before = await store.quotas.get(project)
        const { quota, version } = await view(project, before)
        checkIfMatch(ifMatch, version)
        checkReadOnly(quota, body, ['project', 'updated_at'])
        const bounds = changedBounds(before ?? UNLIMITED, body.allowed)
        const record = { ...bounds, version: version + 1, updatedAt: clock.now() }
        await store.quotas.set(project, record)
        return view(project, record)
      }),
  }
}

type Bounds = Omit<QuotaRecord, 'version' | 'updatedAt'>

function changedBounds(now: Bounds, changes: UpdateQuotaBody['allowed']): Bounds {
  if (changes === null) return UNLIMITED
  const { boxes, cpus, ram_mb: ramMb, storage_gb: storageGb } = changes ?? {}
  return {
    boxes: boxes === undefined ? now.boxes : boxes,
    cpus: cpus === undefined ? now.cpus : cpus,
    ramMb: ramMb === undefined ? now.ramMb : ramMb,
    storageGb: storageGb === undefined ? now.storageGb : storageGb,
  }
}

const UNLIMITED: Bounds = { boxes: null, cpus: null, ramMb: null, storageGb: null }
