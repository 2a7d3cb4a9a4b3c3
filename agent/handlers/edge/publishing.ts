import type { Publishing } from '../../core/edge/publishing.ts'
import type { Services } from '../../core/services/services.ts'
import type { BoxReplies } from '../boxes/replies.ts'
import type { Handlers } from '../common/call.ts'
import type { ServiceReplies } from '../services/services.ts'

type PublishingHandlers = Pick<Handlers, 'publishBox' | 'unpublishBox' | 'publishService' | 'unpublishService'>

/** Handles publishing of domains of boxes and services. */
export function createPublishingHandlers(deps: {
  publishing: Publishing
  services: Services
  replies: BoxReplies
  serviceReplies: ServiceReplies
}): PublishingHandlers {
  const { publishing, services, replies, serviceReplies } = deps
  return {
    publishBox: async ({ params, body, caller, ifMatch }) =>
      replies.done(caller, await publishing.publish(params, body, ifMatch)),
    unpublishBox: async ({ params, body, caller, ifMatch }) =>
      replies.done(caller, await publishing.unpublish(params, body.domains ?? [], ifMatch)),
    publishService: async ({ params, body, caller, ifMatch }) => {
      await publishing.publishService(params, body.domains, ifMatch)
      return serviceReplies.reply(caller, await services.get(params))
    },
    unpublishService: async ({ params, body, caller, ifMatch }) => {
      await publishing.unpublishService(params, body.domains ?? [], ifMatch)
      return serviceReplies.reply(caller, await services.get(params))
    },
  }
}
