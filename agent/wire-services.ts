import type { Admission } from './core/admission.ts'
import type { Boxes } from './core/boxes.ts'
import { createPublishing } from './core/publishing.ts'
import { routedDeploys, routedServices } from './core/routed-services.ts'
import { createDeploys } from './core/service-deploys.ts'
import { createServices } from './core/services.ts'
import type { HandlerParts } from './handler-parts.ts'
import type { BoxReplies } from './handlers/box-replies.ts'
import type { Handlers } from './handlers/call.ts'
import { createPublishingHandlers } from './handlers/publishing.ts'
import { createServiceDeployHandlers } from './handlers/service-deploys.ts'
import { createServiceReplies } from './handlers/service-replies.ts'
import { createServiceHandlers } from './handlers/services.ts'

type ServiceOperations = ReturnType<typeof createServiceHandlers> &
  ReturnType<typeof createServiceDeployHandlers> &
  ReturnType<typeof createPublishingHandlers>

/** Wires services, their versions, and what is published of them and of boxes. */
export function wireServices(
  { deployment, drivers, supervisor, forks, edge, logStreams, tickets, dataUrl, clock }: HandlerParts,
  { boxes, replies, admission }: { boxes: Boxes; replies: BoxReplies; admission: Admission },
): Pick<Handlers, keyof ServiceOperations> {
  const { store } = deployment
  const { outputs } = drivers
  const { routes, address } = edge
  const services = routedServices(createServices({ store, clock, outputs, boxes, supervisor }), routes)
  const deploys = createDeploys({ store, clock, boxes, supervisor, forks, admission })
  const serviceReplies = createServiceReplies(address)
  const publishing = createPublishing({ store, clock, boxes, routes, address })
  return {
    ...createServiceHandlers({ clock, outputs, services, serviceReplies, logStreams, tickets, dataUrl }),
    ...createServiceDeployHandlers({
      deploys: routedDeploys(deploys, routes),
      serviceReplies,
    }),
    ...createPublishingHandlers({ publishing, services, replies, serviceReplies }),
  }
}
