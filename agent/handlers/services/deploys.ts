import type { Caller } from '../../core/common/caller.ts'
import type { Deploys } from '../../core/services/deploys.ts'
import type { ServiceHow, ServiceState } from '../../core/services/services.ts'
import { previewStateOf } from '../../core/services/view.ts'
import type { Handlers, Reply } from '../common/call.ts'
import type { ServiceReplies } from './replies.ts'

type DeployHandlers = Pick<Handlers, 'deployService' | 'promoteService' | 'rollbackService' | 'discardService'>

/** New versions of services over HTTP. */
export function createServiceDeployHandlers({
  deploys,
  serviceReplies,
}: {
  deploys: Deploys
  serviceReplies: ServiceReplies
}): DeployHandlers {
  const acted = (caller: Caller, state: ServiceState, isUnderWay: boolean): Reply => ({
    ...serviceReplies.reply(caller, state),
    ...(isUnderWay ? { status: 202 } : {}),
  })
  return {
    deployService: async ({ params, query, body, caller, ifMatch }) => {
      const state = await deploys.deploy(caller, params, { body, how: howOf(query, ifMatch) })
      return acted(caller, state, previewStateOf(state.sight)?.state === 'starting')
    },
    promoteService: async ({ params, query, caller, ifMatch }) => {
      const state = await deploys.promote(caller, params, howOf(query, ifMatch))
      return acted(caller, state, state.sight.record.next !== null)
    },
    rollbackService: async ({ params, query, caller, ifMatch }) => {
      const state = await deploys.rollback(caller, params, howOf(query, ifMatch))
      return acted(caller, state, state.sight.record.next !== null)
    },
    discardService: async ({ params, query, caller, ifMatch }) =>
      acted(caller, await deploys.discard(caller, params, howOf(query, ifMatch)), false),
  }
}

function howOf(query: { wait_seconds: number }, ifMatch: string | null): ServiceHow {
  return { waitMs: query.wait_seconds * 1000, ifMatch }
}
