import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'

/** Reads a box as it is stored now. Null if it is gone. */
export type BoxReader = (boxId: string) => Promise<BoxRecord | null>

/**
 * Creates a reader that gives the same object to all concurrent users of a box, such as its services, because its environment may be
 * long. Holds a weak reference for each box.
 */
export function createBoxReader({ boxes }: Pick<Store, 'boxes'>): BoxReader {
  const known = new Map<string, WeakRef<BoxRecord>>()
  return async (boxId) => {
    const last = known.get(boxId)?.deref()
    if (last !== undefined && last.version === (await boxes.versionOf(boxId))) return last
    const record = await boxes.byId(boxId)
    if (record === null) known.delete(boxId)
    else known.set(boxId, new WeakRef(record))
    return record
  }
}
