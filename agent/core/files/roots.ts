import { isDeepStrictEqual } from 'node:util'
import { refusal } from '../../../shared/refusals.ts'
import type { FilesRoot } from '../../ports/files/files.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import { boxMountsOf } from '../reconcile/box-spec.ts'
import { findBoxSnapshot } from '../snapshots/snapshots.ts'

/** Returns the current location of the files of a box. */
export function liveRoot({ filesystem }: { filesystem: CowFilesystem }, box: BoxRecord): FilesRoot {
  return { boxId: box.id, rootPath: filesystem.path(box.root), mounts: boxMountsOf(box, filesystem) }
}

/**
 * Returns the location of the files in a snapshot of a box, with the volumes that were taken with it.
 * @throws ServiceError `snapshot_not_found`
 */
export async function snapshotRoot(
  { store, filesystem }: { store: Store; filesystem: CowFilesystem },
  box: BoxRecord,
  snapshot: string,
): Promise<FilesRoot> {
  const { subvolume, data } = await findBoxSnapshot(store, box, snapshot)
  const mounts = boxMountsOf({ mounts: data }, filesystem).map((mount) => ({ ...mount, readOnly: true }))
  return { boxId: box.id, isSnapshot: true, rootPath: filesystem.path(subvolume), mounts }
}

/** A location that something is written to, and how to find out what it is by now. */
export interface WrittenRoot {
  root: FilesRoot
  rootNow(): Promise<FilesRoot>
}

/**
 * Checks, at the end of a write, that the box still has the root and the mounts that it began with. A write may take hours, and must
 * not end in a volume that another box has now.
 * @throws ServiceError `box_busy`
 */
export async function checkSameRoot({ root, rootNow }: WrittenRoot): Promise<void> {
  if (isDeepStrictEqual(await rootNow(), root)) return
  throw refusal('box_busy', [
    'The box has another root or other volumes by now, and nothing was written there.',
    'Try again.',
  ])
}

/** Passes `bytes` on, and fails as `checkSameRoot` by their end. */
export async function* whileSameRoot(
  bytes: AsyncIterable<Uint8Array>,
  written: WrittenRoot,
): AsyncGenerator<Uint8Array> {
  yield* bytes
  await checkSameRoot(written)
}
