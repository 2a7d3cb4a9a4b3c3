import type { Boxes } from '../core/boxes/boxes.ts'
import type { Admission } from '../core/common/admission.ts'
import { createPublishing } from '../core/edge/publishing.ts'
import { createDeploys } from '../core/services/deploys.ts'
import { createServices } from '../core/services/services.ts'
import type { BoxReplies } from '../handlers/boxes/replies.ts'
import type { Handlers } from '../handlers/common/call.ts'
import { createPublishingHandlers } from '../handlers/edge/publishing.ts'
import { createServiceHandlers, createServiceReplies } from '../handlers/services/services.ts'
import type { HandlerParts } from './parts.ts'

type ServiceOperations = ReturnType<typeof createServiceHandlers> & ReturnType<typeof createPublishingHandlers>

/** Wires services, their versions, and what is published of them and of boxes. */
export function wireServices(
  { deployment, drivers, supervisor, forks, edge, logStreams, tickets, dataUrl, clock }: HandlerParts,
  { boxes, replies, admission }: { boxes: Boxes; replies: BoxReplies; admission: Admission },
): Pick<Handlers, keyof ServiceOperations> {
  const { store } = deployment
  const { outputs } = drivers
  const { routes, address } = edge
  const services = createServices({ store, clock, outputs, boxes, supervisor, traffic: routes })
  const deploys = createDeploys({ store, clock, boxes, supervisor, traffic: routes, forks, admission })
  const serviceReplies = createServiceReplies(address)
  const publishing = createPublishing({ store, clock, boxes, routes, address })
  return {
    ...createServiceHandlers({ clock, outputs, services, deploys, serviceReplies, logStreams, tickets, dataUrl }),
    ...createPublishingHandlers({ publishing, services, replies, serviceReplies }),
  }
}
