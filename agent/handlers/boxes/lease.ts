import { type LeaseDeps, leaseBox } from '../../core/boxes/lease.ts'
import type { Handlers } from '../common/call.ts'
import type { BoxReplies } from './replies.ts'

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
