import type { Quota, UpdateQuotaBody } from '../../shared/schemas/storage.ts'
import type { Clock } from '../ports/clock.ts'
import type { QuotaRecord } from '../ports/storage-store.ts'
import type { Store } from '../ports/store.ts'
import { timestamp } from './box-view.ts'
import { checkReadOnly } from './read-only-fields.ts'

/** What projects may use. */
export interface Quotas {
  get(project: string): Promise<Quota>
  update(project: string, body: UpdateQuotaBody): Promise<Quota>
}

/** Bounds by project, unlimited unless set; what is in use when they are lowered stays. */
export function createQuotas({ store, clock }: { store: Store; clock: Clock }): Quotas {
  const view = async (project: string, record: QuotaRecord | null): Promise<Quota> => {
    const { boxes, cpus, ramMb, storageGb } = record ?? UNLIMITED
    const used = await store.quotas.usage(project)
    return {
      project,
      allowed: { boxes, cpus, ram_mb: ramMb, storage_gb: storageGb },
      used: { boxes: used.boxes, cpus: used.cpus, ram_mb: used.ramMb, storage_gb: used.storageGb },
      updated_at: record ? timestamp(record.updatedAt) : null,
    }
  }
  const get = async (project: string): Promise<Quota> => view(project, await store.quotas.get(project))
  return {
    get,
    update: async (project, body) => {
      checkReadOnly(await get(project), body, ['project', 'updated_at'])
      const { boxes, cpus, ram_mb: ramMb, storage_gb: storageGb } = body.allowed ?? {}
      const kept = body.allowed === null ? UNLIMITED : ((await store.quotas.get(project)) ?? UNLIMITED)
      const record = {
        boxes: boxes === undefined ? kept.boxes : boxes,
        cpus: cpus === undefined ? kept.cpus : cpus,
        ramMb: ramMb === undefined ? kept.ramMb : ramMb,
        storageGb: storageGb === undefined ? kept.storageGb : storageGb,
        updatedAt: clock.now(),
      }
      await store.quotas.set(project, record)
      return view(project, record)
    },
  }
}

const UNLIMITED = { boxes: null, cpus: null, ramMb: null, storageGb: null }
