import { type LeaseDeps, leaseBox } from '../core/box-lease.ts'
import type { BoxReplies } from './box-replies.ts'
import type { Handlers } from './call.ts'

/** Keeping boxes awake over HTTP. */
export function createBoxLeaseHandlers(deps: LeaseDeps & { replies: BoxReplies }): Pick<Handlers, 'leaseBox'> {
  const { replies } = deps
  return {
    leaseBox: async ({ params, body, caller, ifMatch }) => {
      const record = await leaseBox(deps, params, { seconds: body.seconds, ifMatch })
      return replies.reply(caller, { record, isSettled: true }, { kind: 'box.lease', status: 200 })
    },
  }
}
