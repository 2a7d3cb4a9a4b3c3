import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, PendingRestore } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import { bytesOf } from '../common/sizes.ts'

/**
 * Refuses a change of a box while a restore of it is under way.
 * @throws ServiceError `box_busy`
 */
export function checkNoRestore({ name, restore }: BoxRecord): void {
  if (restore !== null)
    throw refusal('box_busy', [`A restore of the box "${name}" is under way.`, 'Try again when that is done.'])
}

/** Returns the error with the reason why a restore failed. */
export function restoreFailed({ code, detail }: NonNullable<BoxRecord['restoreFault']>): ServiceError {
  return new ServiceError(code, `The restore failed, and the box is unchanged. ${detail}`)
}

/** Returns the subvolumes that were made for a restore. */
export function subvolumesFor({ root, data }: PendingRestore): string[] {
  return [root, ...data.map(({ subvolume }) => subvolume)]
}

/** Returns the volumes of `parts` that still exist, by id. Reads nothing where `parts` is empty, as in most restores. */
export async function volumesOf(
  store: Store,
  parts: readonly { volumeId: string }[],
): Promise<Map<string, VolumeRecord>> {
  if (parts.length === 0) return new Map()
  const wanted = new Set(parts.map(({ volumeId }) => volumeId))
  const volumes = (await store.volumes.all()).filter(({ id }) => wanted.has(id))
  return new Map(volumes.map((volume) => [volume.id, volume]))
}

/**
 * Sets the quota of a restored volume to its size, which an update may have changed while the volume still had its old data. `boundGb` is
 * the quota it has so far, or null if it is not known.
 */
export async function matchQuota(
  { store, filesystem }: { store: Store; filesystem: CowFilesystem },
  restored: { project: string; name: string; id: string },
  boundGb: number | null,
): Promise<void> {
  const read = (): ReturnType<Store['volumes']['get']> => store.volumes.get(restored.project, restored.name)
  let sizeGb = boundGb
  for (let now = await read(); now?.id === restored.id && now.sizeGb !== sizeGb; now = await read()) {
    sizeGb = now.sizeGb
    await filesystem.setQuota(now.subvolume, bytesOf(sizeGb))
  }
}
