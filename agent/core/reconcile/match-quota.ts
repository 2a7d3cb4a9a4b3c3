import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import { bytesOf } from '../common/sizes.ts'

/**
 * Bounds the data that a restore has given a volume by the size of it: an update may have changed that while the volume had
 * its old data still. `boundGb` is what bounds it so far, null: not known.
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
