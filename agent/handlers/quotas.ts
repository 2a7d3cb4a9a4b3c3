import type { Quotas } from '../core/quotas.ts'
import type { Handlers } from './call.ts'

/** Quotas over HTTP. */
export function createQuotaHandlers({ quotas }: { quotas: Quotas }): Pick<Handlers, 'getQuota' | 'updateQuota'> {
  return {
    getQuota: async ({ params }) => ({ body: await quotas.get(params.project) }),
    updateQuota: async ({ params, body }) => ({ body: await quotas.update(params.project, body) }),
  }
}
