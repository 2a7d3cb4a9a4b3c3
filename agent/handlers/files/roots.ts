import type { Boxes } from '../../core/boxes/boxes.ts'
import { liveRoot } from '../../core/files/restores.ts'
import { boxMountsOf } from '../../core/reconcile/box-spec.ts'
import { findBoxSnapshot } from '../../core/snapshots/snapshots.ts'
import type { FilesRoot } from '../../ports/files/files.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import { checkBound } from '../exec/exec.ts'

/** Dependencies of file locations. */
export interface FilesRootDeps {
  boxes: Boxes
  store: Store
  filesystem: CowFilesystem
}

interface BoxCall {
  params: { project: string; name: string }
  boundBoxId: string | null
}

/** Returns the location of the files of the box that a request names. */
export async function filesRootOf(deps: FilesRootDeps, call: BoxCall): Promise<FilesRoot> {
  return liveRoot(deps, await boxOf(deps, call))
}

/**
 * As `filesRootOf`; if the query names a snapshot, returns the location in that, with the volumes that were taken with it.
 * @throws ServiceError `snapshot_not_found`
 */
export async function readRootOf(
  deps: FilesRootDeps,
  call: BoxCall & { query: { snapshot?: string | undefined } },
): Promise<FilesRoot> {
  const { snapshot } = call.query
  if (snapshot === undefined) return filesRootOf(deps, call)
  return (await restoreRootsOf(deps, call, snapshot)).from
}

/** Returns the location of the files of a box, and of those in a snapshot of it. Throws as `readRootOf`. */
export async function restoreRootsOf(
  deps: FilesRootDeps,
  call: BoxCall,
  snapshot: string,
): Promise<{ root: FilesRoot; from: FilesRoot }> {
  const box = await boxOf(deps, call)
  const { subvolume, data } = await findBoxSnapshot(deps.store, box, snapshot)
  const mounts = boxMountsOf({ mounts: data }, deps.filesystem).map((mount) => ({ ...mount, readOnly: true }))
  const from: FilesRoot = { boxId: box.id, isSnapshot: true, rootPath: deps.filesystem.path(subvolume), mounts }
  return { root: liveRoot(deps, box), from }
}

async function boxOf({ boxes }: FilesRootDeps, { params, boundBoxId }: BoxCall): Promise<BoxRecord> {
  return checkBound(await boxes.get(params), boundBoxId)
}
