import type { QuotaState, Quotas } from '../../core/access/quotas.ts'
import type { Handlers, Reply } from '../common/call.ts'
import { viewQuota } from './view.ts'

/** Handles quotas. */
export function createQuotaHandlers({ quotas }: { quotas: Quotas }): Pick<Handlers, 'getQuota' | 'updateQuota'> {
  const reply = (state: QuotaState): Reply => ({ body: viewQuota(state), version: state.version })
  return {
    getQuota: async ({ params }) => reply(await quotas.get(params.project)),
    updateQuota: async ({ params, body, ifMatch }) => reply(await quotas.update(params.project, body, ifMatch)),
  }
}
