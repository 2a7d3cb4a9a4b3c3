import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import { discardUncommitted } from '../common/discard-uncommitted.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { retryWhileBusy } from '../common/retry-while-busy.ts'
import { bytesOf } from '../common/sizes.ts'
import { findVolume, findVolumeSnapshot, type VolumeRef } from '../common/volume-lookup.ts'
import { matchQuota } from '../reconcile/match-quota.ts'
import { pruneAutomatic } from '../snapshots/automatic.ts'
import { copyTree } from '../snapshots/tree-copy.ts'
import { swapTree, type VolumeChange, type VolumeSwapDeps } from './swap.ts'

/** To which snapshot, how long to wait for boxes that use the volume, of which version of it, and who asks. */
export interface RestoreWanted {
  snapshot: string
  waitMs: number
  ifMatch: string | null
  tokenId: string
}

/**
 * Gives a volume the data of one of its snapshots, in all boxes that have it, which go on running; what it held becomes an
 * automatic snapshot. Waits while processes use it.
 * @throws ServiceError `volume_not_found`, `snapshot_not_found`, and those of `replaceData`
 */
export async function restoreVolume(deps: VolumeSwapDeps, ref: VolumeRef, wanted: RestoreWanted): Promise<void> {
  const { store, filesystem, clock } = deps
  const volume = await findVolume(store, ref)
  checkIfMatch(wanted.ifMatch, volume.version)
  const source = async (): Promise<string> => (await findVolumeSnapshot(store, volume, wanted.snapshot)).subvolume
  await source()
  const deadline = clock.now() + wanted.waitMs
  await replaceData(deps, volume, {
    ...{ of: wanted.snapshot, tokenId: wanted.tokenId, idleBy: () => deadline },
    fill: (name, quotaBytes) => copyTree(filesystem, source, { name, isReadOnly: false, quotaBytes }),
  })
}

/** The data that a volume is to have in the place of its own. */
export interface NewData {
  /** What it is of, as people read it. */
  of: string
  tokenId: string
  /** Makes the subvolume `name` of it, for which there is a tombstone. */
  fill(name: string, quotaBytes: number): Promise<void>
  /** Until when boxes may go on using the volume, ms since the epoch; asked when the data is there. */
  idleBy(): number
  signal?: AbortSignal
}

/**
 * Gives a volume other data, once all of that is there, in all boxes that have it, which go on running; what it held becomes
 * an automatic snapshot.
 * @throws ServiceError those of `data.fill`, `volume_not_found`, `volume_busy`, `volume_in_use`, `box_busy`, with nothing
 * changed; `internal` also where the volume was restored and a box does not have it yet, which is brought about later
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
  throw new ServiceError('internal', `The data volume is restored, and will be back soon in ${names}.`)
}

// Done again by the next start of the service where it fails or is cut off: the volume is restored all the same.
async function tidyUp(deps: VolumeSwapDeps, volume: VolumeRecord, replaced: string): Promise<void> {
  try {
    await matchQuota(deps, volume, volume.sizeGb)
    await deps.filesystem.setReadOnly(replaced, true)
    await pruneAutomatic(deps, volume.id)
  } catch (error) {
    deps.logger.error('what a restore has replaced could not be tidied up', {
      volume: volume.id,
      error,
    })
  }
}
