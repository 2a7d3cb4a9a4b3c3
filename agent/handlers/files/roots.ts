import type { Boxes } from '../../core/boxes/boxes.ts'
import type { Caller } from '../../core/common/caller.ts'
import { liveRoot, snapshotRoot, type WrittenRoot } from '../../core/files/roots.ts'
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
  caller: Pick<Caller, 'accounts'>
}

/** Returns the location of the files of the box that a request names. */
export async function filesRootOf(deps: FilesRootDeps, call: BoxCall): Promise<FilesRoot> {
  return { ...liveRoot(deps, await boxOf(deps, call)), accounts: call.caller.accounts }
}

/** As `filesRootOf`, for a write that may take long. */
export async function writtenRootOf(deps: FilesRootDeps, call: BoxCall): Promise<WrittenRoot> {
  return { root: await filesRootOf(deps, call), rootNow: () => filesRootOf(deps, call) }
}

/**
 * As `filesRootOf`. If the query names a snapshot, returns the location in that.
 * @throws ServiceError `snapshot_not_found`
 */
export async function readRootOf(
  deps: FilesRootDeps,
  call: BoxCall & { query: { snapshot?: string | undefined } },
): Promise<FilesRoot> {
  const { snapshot } = call.query
  const { accounts } = call.caller
  const box = await boxOf(deps, call)
  return { ...(snapshot === undefined ? liveRoot(deps, box) : await snapshotRoot(deps, box, snapshot)), accounts }
}

/** As `writtenRootOf`, with the location in a snapshot to restore from. Throws as `readRootOf`. */
export async function restoreRootsOf(
  deps: FilesRootDeps,
  call: BoxCall,
  snapshot: string,
): Promise<WrittenRoot & { from: FilesRoot }> {
  const box = await boxOf(deps, call)
  const from = await snapshotRoot(deps, box, snapshot)
  return {
    root: { ...liveRoot(deps, box), accounts: call.caller.accounts },
    from,
    rootNow: () => filesRootOf(deps, call),
  }
}

async function boxOf({ boxes }: FilesRootDeps, { params, boundBoxId }: BoxCall): Promise<BoxRecord> {
  return checkBound(await boxes.get(params), boundBoxId)
}
