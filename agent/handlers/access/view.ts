import type { Quota } from '../../../shared/schemas/access.ts'
import { timestamp } from '../../../shared/time.ts'
import type { QuotaState } from '../../core/access/quotas.ts'

/** Returns the quota in the form of the API. */
export function viewQuota({ project, allowed, used, updatedAt }: QuotaState): Quota {
  return {
    project,
    allowed: { boxes: allowed.boxes, cpus: allowed.cpus, ram_mb: allowed.ramMb, storage_gb: allowed.storageGb },
    used: { boxes: used.boxes, cpus: used.cpus, ram_mb: used.ramMb, storage_gb: used.storageGb },
    updated_at: updatedAt === null ? null : timestamp(updatedAt),
  }
}
