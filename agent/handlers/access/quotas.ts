import type { Quotas, VersionedQuota } from '../../core/access/quotas.ts'
import type { Handlers, Reply } from '../common/call.ts'

/** Handles quotas. */
export function createQuotaHandlers({ quotas }: { quotas: Quotas }): Pick<Handlers, 'getQuota' | 'updateQuota'> {
  const reply = ({ quota, version }: VersionedQuota): Reply => ({ body: quota, version })
  return {
    getQuota: async ({ params }) => reply(await quotas.get(params.project)),
    updateQuota: async ({ params, body, ifMatch }) => reply(await quotas.update(params.project, body, ifMatch)),
  }
}
