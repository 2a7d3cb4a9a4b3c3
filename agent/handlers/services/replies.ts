import type { Caller } from '../../core/common/caller.ts'
import type { EdgeAddress } from '../../core/common/urls.ts'
import type { ObservedService } from '../../core/services/observer.ts'
import type { ServiceState } from '../../core/services/services.ts'
import { type ServiceSeen, viewService } from '../../core/services/view.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import type { Reply } from '../common/call.ts'

/** Services as they are answered. */
export interface ServiceReplies {
  view(caller: Caller, box: BoxRecord, sight: ObservedService): ReturnType<typeof viewService>
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
