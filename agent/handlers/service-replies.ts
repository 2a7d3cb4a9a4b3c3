import type { Caller } from '../core/caller.ts'
import type { ServiceSight } from '../core/service-sights.ts'
import { type ServiceSeen, viewService } from '../core/service-view.ts'
import type { ServiceState } from '../core/services.ts'
import type { EdgeAddress } from '../core/urls.ts'
import type { BoxRecord } from '../ports/store.ts'
import type { Reply } from './call.ts'

/** Services as they are answered. */
export interface ServiceReplies {
  view(caller: Caller, box: BoxRecord, sight: ServiceSight): ReturnType<typeof viewService>
  reply(caller: Caller, state: ServiceState): Reply
}

/** Services as this deployment tells of them. */
export function createServiceReplies(address: EdgeAddress): ServiceReplies {
  return {
    view: (caller, box, sight) => viewService(box, sight, { ...seenBy(caller), address }),
    reply: (caller, { box, sight }) => ({
      body: viewService(box, sight, { ...seenBy(caller), address }),
      version: sight.record.version,
      replayBody: viewService(box, sight, { environment: false, output: false, address }),
    }),
  }
}

/** What a caller may see of services: environments with `write`, as those of boxes, and what they wrote with `exec`, as their logs. */
function seenBy({ permissions }: Caller): Omit<ServiceSeen, 'address'> {
  return { environment: permissions.includes('write'), output: permissions.includes('exec') }
}
