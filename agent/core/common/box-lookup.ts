import { ServiceError } from '../../../shared/errors.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'

/**
 * The newest record of a box that was there a moment ago.
 * @throws ServiceError `box_not_found`
 */
export async function readBox(store: Store, box: { id: string; name?: string }): Promise<BoxRecord> {
  const record = await store.boxes.byId(box.id)
  if (!record) throw boxGone(box)
  return record
}

/** The error that tells of a box that was deleted in the middle of something. */
export function boxGone({ name }: { name?: string } = {}): ServiceError {
  const box = name === undefined ? 'The box' : `The box "${name}"`
  return new ServiceError('box_not_found', `${box} was deleted meanwhile.`)
}
