import type { PendingRestore, Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'

/** The subvolumes that were made for a restore. */
export function madeFor({ root, data }: PendingRestore): string[] {
  return [root, ...data.map(({ subvolume }) => subvolume)]
}

/** The volumes of `parts` that are there, by id. Most restores have none, and look at none. */
export async function volumesOf(
  store: Store,
  parts: readonly { volumeId: string }[],
): Promise<Map<string, VolumeRecord>> {
  if (parts.length === 0) return new Map()
  const wanted = new Set(parts.map(({ volumeId }) => volumeId))
  const volumes = (await store.volumes.all()).filter(({ id }) => wanted.has(id))
  return new Map(volumes.map((volume) => [volume.id, volume]))
}
