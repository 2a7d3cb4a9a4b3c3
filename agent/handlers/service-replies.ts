import type { Caller } from '../core/caller.ts'
import { type ServiceSeen, viewService } from '../core/service-view.ts'
import type { ServiceState } from '../core/services.ts'
import type { Reply } from './call.ts'

/** The answer that tells of a service. */
export function replyWithService(caller: Caller, { box, sight }: ServiceState): Reply {
  return {
    body: viewService(box, sight, seenBy(caller)),
    version: sight.record.version,
    replayBody: viewService(box, sight, { environment: false, output: false }),
  }
}

/** What a caller may see of services: environments with `write`, as those of boxes, and what they wrote with `exec`, as their logs. */
export function seenBy({ permissions }: Caller): ServiceSeen {
  return { environment: permissions.includes('write'), output: permissions.includes('exec') }
}
