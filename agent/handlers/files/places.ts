import type { Boxes } from '../../core/boxes/boxes.ts'
import { livePlace } from '../../core/files/restores.ts'
import { boxMountsOf } from '../../core/reconcile/box-spec.ts'
import { findBoxSnapshot } from '../../core/snapshots/snapshots.ts'
import type { FilesRoot } from '../../ports/files/files.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import { checkBound } from '../exec/exec.ts'

/** Dependencies of file locations. */
export interface FilePlaceDeps {
  boxes: Boxes
  store: Store
  filesystem: CowFilesystem
}

interface BoxCall {
  params: { project: string; name: string }
  boundBoxId: string | null
}

/** Returns the location of the files of the box that a request names. */
export async function filesPlaceOf(deps: FilePlaceDeps, call: BoxCall): Promise<FilesRoot> {
  return livePlace(deps, await boxOf(deps, call))
}

/**
 * As `filesPlaceOf`; if the query names a snapshot, returns the location in that, with the volumes that were taken with it.
 * @throws ServiceError `snapshot_not_found`
 */
export async function readPlaceOf(
  deps: FilePlaceDeps,
  call: BoxCall & { query: { snapshot?: string | undefined } },
): Promise<FilesRoot> {
  const { snapshot } = call.query
  if (snapshot === undefined) return filesPlaceOf(deps, call)
  return (await restorePlacesOf(deps, call, snapshot)).from
}

/** Returns the location of the files of a box, and of those in a snapshot of it. Throws as `readPlaceOf`. */
export async function restorePlacesOf(
  deps: FilePlaceDeps,
  call: BoxCall,
  snapshot: string,
): Promise<{ place: FilesRoot; from: FilesRoot }> {
  const box = await boxOf(deps, call)
  const { subvolume, data } = await findBoxSnapshot(deps.store, box, snapshot)
  const mounts = boxMountsOf({ mounts: data }, deps.filesystem).map((mount) => ({ ...mount, readOnly: true }))
  const from: FilesRoot = { boxId: box.id, isSnapshot: true, rootPath: deps.filesystem.path(subvolume), mounts }
  return { place: livePlace(deps, box), from }
}

async function boxOf({ boxes }: FilePlaceDeps, { params, boundBoxId }: BoxCall): Promise<BoxRecord> {
  return checkBound(await boxes.get(params), boundBoxId)
}
