import type { Caller } from '../../core/common/caller.ts'
import type { EdgeAddress } from '../../core/common/urls.ts'
import type { Deploys } from '../../core/services/deploys.ts'
import { type LogStreams, readLogs, type ServiceLogsDeps } from '../../core/services/logs.ts'
import type { ObservedService } from '../../core/services/observer.ts'
import type { ServiceOptions, ServiceState, Services } from '../../core/services/services.ts'
import { previewStateOf, stateOf } from '../../core/services/state.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Handlers, Reply } from '../common/call.ts'
import { isStreamAsked, type RedirectDeps, streamOrRedirect } from '../common/data-address-redirect.ts'
import { encodeEventStream } from '../common/event-stream.ts'
import { type ServiceViewOptions, viewPiece, viewService } from './view.ts'

export interface ServiceHandlersDeps extends ServiceLogsDeps, RedirectDeps {
  services: Services
  deploys: Deploys
  serviceReplies: ServiceReplies
  logStreams: LogStreams
}

type ServiceHandlers = Pick<
  Handlers,
  'listServices' | 'putService' | 'getService' | 'deleteService' | 'startService' | 'stopService' | 'getServiceLogs'
>
type DeployHandlers = Pick<Handlers, 'deployService' | 'promoteService' | 'rollbackService' | 'discardService'>

/** Serves services, their versions and their logs over HTTP. */
export function createServiceHandlers(deps: ServiceHandlersDeps): ServiceHandlers & DeployHandlers {
  const { services, serviceReplies } = deps
  const { view, reply } = serviceReplies
  const replyToAction = (caller: Caller, state: ServiceState): Reply =>
    accepted(reply(caller, state), ['starting', 'stopping'].includes(stateOf(state.service).state))
  return {
    ...createDeployHandlers(deps),
    listServices: async ({ params, query, caller }) => {
      const { box, services: page, next } = await services.list(params, query)
      const views = page.map((service) => view(caller, box, service))
      return { body: { services: views, has_more: next !== null, next_continuation_token: next } }
    },
    putService: async ({ params, query, body, caller, ifMatch }) => {
      const options = optionsOf(query, ifMatch)
      const { isNew, ...state } = await services.put(caller, params, { body, options })
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
      replyToAction(caller, await services.start(caller, params, optionsOf(query, ifMatch))),
    stopService: async ({ params, query, caller, ifMatch }) =>
      replyToAction(caller, await services.stop(caller, params, optionsOf(query, ifMatch))),
    getServiceLogs: async (call) => {
      const { params, query, caller } = call
      const { box, service: observed } = await services.get(params)
      const service = { observed, observe: async () => (await services.get(params)).service }
      if (!isStreamAsked(call)) return { body: viewPiece(await readLogs(deps, service, query), query.encoding) }
      const offset = offsetOf(call.lastEventId) ?? query.offset
      const open = () =>
        encodeEventStream(deps.logStreams.follow(caller, service, { ...query, offset }), (piece) =>
          viewPiece(piece, query.encoding),
        )
      return streamOrRedirect(deps, { call, boxId: box.id }, open)
    },
  }
}

function createDeployHandlers({ deploys, serviceReplies: { reply } }: ServiceHandlersDeps): DeployHandlers {
  const replyToSwitch = (caller: Caller, state: ServiceState): Reply =>
    accepted(reply(caller, state), state.service.record.next !== null)
  return {
    deployService: async ({ params, query, body, caller, ifMatch }) => {
      const state = await deploys.deploy(caller, params, { body, options: optionsOf(query, ifMatch) })
      return accepted(reply(caller, state), previewStateOf(state.service)?.state === 'starting')
    },
    promoteService: async ({ params, query, caller, ifMatch }) =>
      replyToSwitch(caller, await deploys.promote(caller, params, optionsOf(query, ifMatch))),
    rollbackService: async ({ params, query, caller, ifMatch }) =>
      replyToSwitch(caller, await deploys.rollback(caller, params, optionsOf(query, ifMatch))),
    discardService: async ({ params, query, caller, ifMatch }) =>
      reply(caller, await deploys.discard(caller, params, optionsOf(query, ifMatch))),
  }
}

/** Formats services as replies, as far as their caller may see them. */
export interface ServiceReplies {
  view(caller: Caller, box: BoxRecord, service: ObservedService): ReturnType<typeof viewService>
  reply(caller: Caller, state: ServiceState): Reply
}

/** Makes the URLs of services from `address`. */
export function createServiceReplies(address: EdgeAddress): ServiceReplies {
  return {
    view: (caller, box, service) => viewService(box, service, { ...visibleTo(caller), address }),
    reply: (caller, { box, service }) => ({
      body: viewService(box, service, { ...visibleTo(caller), address }),
      version: service.record.version,
      replayBody: viewService(box, service, { withEnvironment: false, withOutput: false, address }),
    }),
  }
}

// Shows environments with `write`, as for boxes, and output with `exec`, as logs.
function visibleTo({ permissions }: Caller): Omit<ServiceViewOptions, 'address'> {
  return { withEnvironment: permissions.includes('write'), withOutput: permissions.includes('exec') }
}

// Sets status 202 while the effect is under way.
function accepted(reply: Reply, isUnderWay: boolean): Reply {
  return { ...reply, ...(isUnderWay ? { status: 202 } : {}) }
}

function optionsOf(query: { wait_seconds: number }, ifMatch: string | null): ServiceOptions {
  return { waitMs: query.wait_seconds * 1000, ifMatch }
}

// Ignores ids of other streams, which are no offsets.
function offsetOf(lastEventId: string | null): number | undefined {
  return lastEventId !== null && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : undefined
}
