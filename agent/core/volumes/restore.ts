import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import { discardUncommitted } from '../common/create-record.ts'
import { findVolume, type VolumeRef } from '../common/lookup.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { bytesOf } from '../common/sizes.ts'
import { matchQuota } from '../reconcile/pending-restore.ts'
import { pruneAutomatic } from '../snapshots/automatic.ts'
import { findVolumeSnapshot } from '../snapshots/snapshots.ts'
import { copyTree } from '../snapshots/tree-copy.ts'
import { retryWhileBusy } from './retry-while-busy.ts'
import { swapTree, type VolumeChange, type VolumeSwapDeps } from './swap.ts'

/** A request to restore a volume. Waits `waitMs` for boxes that use it. */
export interface RestoreRequest {
  snapshot: string
  waitMs: number
  ifMatch: string | null
  tokenId: string
}

/**
 * Restores a volume to one of its snapshots in all boxes that have it, while they run. Keeps the replaced data as an automatic
 * snapshot. Waits while processes use the volume.
 * @throws ServiceError `volume_not_found`, `snapshot_not_found`, and the errors of `replaceData`
 */
export async function restoreVolume(deps: VolumeSwapDeps, ref: VolumeRef, request: RestoreRequest): Promise<void> {
  const { store, filesystem, clock } = deps
  const volume = await findVolume(store, ref)
  checkIfMatch(request.ifMatch, volume.version)
  const source = async (): Promise<string> => (await findVolumeSnapshot(store, volume, request.snapshot)).subvolume
  await source()
  const deadline = clock.now() + request.waitMs
  await replaceData(deps, volume, {
    ...{ of: request.snapshot, tokenId: request.tokenId, idleBy: () => deadline },
    fill: (name, quotaBytes) =>
      copyTree(filesystem, source, { name, project: volume.project, isReadOnly: false, quotaBytes }),
  })
}

/** The new data of a volume. */
export interface NewData {
  /** The source of the data, for the comment of the automatic snapshot. */
  of: string
  tokenId: string
  /** Fills the subvolume `name` with it, under a tombstone. */
  fill(name: string, quotaBytes: number): Promise<void>
  /** Returns how long to wait for boxes that use the volume, as ms since the epoch. Called once the data is complete. */
  idleBy(): number
  signal?: AbortSignal
}

/**
 * Replaces the data of a volume once the new data is complete, in all boxes that have it, while they run. Keeps the replaced data as
 * an automatic snapshot.
 * @throws ServiceError the errors of `data.fill`, `volume_not_found`, `volume_busy`, `volume_in_use`, `box_busy`, without a change.
 * Also `internal` if the volume was restored but could not be mounted again in a box. The reconciler retries that
 */
export async function replaceData(deps: VolumeSwapDeps, volume: VolumeRecord, data: NewData): Promise<void> {
  const { store, clock } = deps
  const now = clock.now()
  const subvolume = newId('vol', now)
  const change: VolumeChange = { volume, subvolume, snapshot: data.of, tokenId: data.tokenId, busiest: null }
  const tombstone = { id: subvolume, root: subvolume, createdAt: now }
  await store.tombstones.insert(tombstone)
  let swapped: Awaited<ReturnType<typeof swapTree>>
  try {
    await data.fill(subvolume, bytesOf(volume.sizeGb))
    swapped = await retryWhileBusy((restMs) => swapTree(deps, change, restMs), {
      ...{ clock, deadline: data.idleBy(), signal: data.signal },
      codes: ['volume_busy', 'volume_in_use', 'box_busy'],
    })
  } catch (error) {
    await discardUncommitted(deps, tombstone)
    throw error
  }
  await tidyUp(deps, volume, swapped.replaced)
  if (swapped.without.length === 0) return
  const names = swapped.without.map((name) => `"${name}"`).join(', ')
  throw new ServiceError('internal', `The data volume is restored. The agent mounts it again soon in ${names}.`)
}

// Never fails the restore, because the next start of the agent retries it.
async function tidyUp(deps: VolumeSwapDeps, volume: VolumeRecord, replaced: string): Promise<void> {
  try {
    await matchQuota(deps, volume, volume.sizeGb)
    await deps.filesystem.setReadOnly(replaced, true)
    await pruneAutomatic(deps, volume.id)
  } catch (error) {
    deps.logger.error('failed to prune snapshots of replaced data', {
      volume: volume.id,
      error,
    })
  }
}
