import type { Boxes } from '../core/boxes/boxes.ts'
import type { Admission } from '../core/common/admission.ts'
import { createPublishing } from '../core/edge/publishing.ts'
import { routedDeploys, routedServices } from '../core/edge/routed-services.ts'
import { createDeploys } from '../core/services/deploys.ts'
import { createServices } from '../core/services/services.ts'
import type { BoxReplies } from '../handlers/boxes/replies.ts'
import type { Handlers } from '../handlers/common/call.ts'
import { createPublishingHandlers } from '../handlers/edge/publishing.ts'
import { createServiceDeployHandlers } from '../handlers/services/deploys.ts'
import { createServiceReplies } from '../handlers/services/replies.ts'
import { createServiceHandlers } from '../handlers/services/services.ts'
import type { HandlerParts } from './parts.ts'

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
