import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import { editRecord } from '../common/edit-record.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import type { Boxes, BoxRef } from './boxes.ts'

export interface LeaseDeps {
  store: Store
  clock: Clock
  boxes: Pick<Boxes, 'get'>
}

/**
 * Keeps a box from being stopped for want of use for `seconds` from now: durable when it resolves, whatever state the box is in.
 * A lease that lasts longer stays; 0 ends all.
 * @throws ServiceError `box_not_found`, `precondition_failed`
 */
export async function leaseBox(
  { store, clock, boxes }: LeaseDeps,
  ref: BoxRef,
  { seconds, ifMatch }: { seconds: number; ifMatch: string | null },
): Promise<BoxRecord> {
  return editRecord(clock, {
    read: () => boxes.get(ref),
    edit: (record) => {
      checkIfMatch(ifMatch, record.version)
      const leaseUntil = seconds === 0 ? null : Math.max(record.leaseUntil ?? 0, clock.now() + seconds * 1000)
      return leaseUntil === record.leaseUntil ? record : { ...record, leaseUntil }
    },
    write: (next) => store.boxes.replace(next),
  })
}
