import type { Caller } from '../../core/common/caller.ts'
import { type LogStreams, viewPiece } from '../../core/services/log-streams.ts'
import { readLogs, type ServiceLogsDeps } from '../../core/services/logs.ts'
import type { ServiceState, Services } from '../../core/services/services.ts'
import { stateOf } from '../../core/services/view.ts'
import type { Handlers, Reply } from '../common/call.ts'
import { isStreamAsked, type RedirectDeps, streamOrRedirect } from '../common/data-address-redirect.ts'
import type { ServiceReplies } from './replies.ts'

type ServiceHandlers = Pick<
  Handlers,
  'listServices' | 'putService' | 'getService' | 'deleteService' | 'startService' | 'stopService' | 'getServiceLogs'
>

/** Services over HTTP. */
export function createServiceHandlers(
  deps: ServiceLogsDeps & RedirectDeps & { services: Services; serviceReplies: ServiceReplies; logStreams: LogStreams },
): ServiceHandlers {
  const { services } = deps
  const { view, reply } = deps.serviceReplies
  const acted = (caller: Caller, state: ServiceState): Reply => {
    const isUnderWay = ['starting', 'stopping'].includes(stateOf(state.sight).state)
    return { ...reply(caller, state), ...(isUnderWay ? { status: 202 } : {}) }
  }
  return {
    listServices: async ({ params, query, caller }) => {
      const { box, sights, next } = await services.list(params, query)
      const views = sights.map((sight) => view(caller, box, sight))
      return { body: { services: views, has_more: next !== null, next_continuation_token: next } }
    },
    putService: async ({ params, query, body, caller, ifMatch }) => {
      const how = { waitMs: query.wait_seconds * 1000, ifMatch }
      const { isNew, ...state } = await services.put(caller, params, { body, how })
      if (!isNew) return reply(caller, state)
      const location = `/v1/projects/${params.project}/boxes/${params.name}/services/${params.service}`
      return { ...reply(caller, state), status: 201, headers: { location } }
    },
    getService: async ({ params, caller }) => reply(caller, await services.get(params)),
    deleteService: async ({ params, ifMatch }) => {
      await services.remove(params, ifMatch)
      return { body: null }
    },
    startService: async ({ params, query, caller, ifMatch }) =>
      acted(caller, await services.start(caller, params, { waitMs: query.wait_seconds * 1000, ifMatch })),
    stopService: async ({ params, query, caller, ifMatch }) =>
      acted(caller, await services.stop(caller, params, { waitMs: query.wait_seconds * 1000, ifMatch })),
    getServiceLogs: async (call) => {
      const { params, query, caller } = call
      const { box, sight } = await services.get(params)
      const service = { sight, see: async () => (await services.get(params)).sight }
      if (!isStreamAsked(call)) return { body: viewPiece(await readLogs(deps, service, query), query) }
      const offset = offsetOf(call.lastEventId) ?? query.offset
      const open = () => deps.logStreams.follow(caller, service, { ...query, offset })
      return streamOrRedirect(deps, { call, boxId: box.id }, open)
    },
  }
}

// What is no offset comes from another stream: that is left to the query.
function offsetOf(lastEventId: string | null): number | undefined {
  return lastEventId !== null && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : undefined
}
