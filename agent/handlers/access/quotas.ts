import type { QuotaState, Quotas } from '../../core/access/quotas.ts'
import type { Handlers, Reply } from '../common/call.ts'
import { viewProject, viewQuota } from './view.ts'

type QuotaHandlers = Pick<Handlers, 'listProjects' | 'getQuota' | 'updateQuota'>

/** Handles projects and their quotas. */
export function createQuotaHandlers({ quotas }: { quotas: Quotas }): QuotaHandlers {
  const reply = (state: QuotaState): Reply => ({ body: viewQuota(state), version: state.version })
  return {
    listProjects: async ({ query, caller }) => {
      const { projects, next } = await quotas.list(caller, query)
      const views = projects.map(viewProject)
      return { body: { projects: views, has_more: next !== null, next_continuation_token: next } }
    },
    getQuota: async ({ params }) => reply(await quotas.get(params.project)),
    updateQuota: async ({ params, body, ifMatch }) => reply(await quotas.update(params.project, body, ifMatch)),
  }
}
