import type { HealthFault } from '../../shared/schemas/system.ts'
import type { CowFilesystem } from '../ports/cow-filesystem.ts'
import type { Store } from '../ports/store.ts'

/** Subvolumes that no record knows are told of and left alone: a lost or restored database must not erase data. */
export async function findUnknownSubvolumes(store: Store, filesystem: CowFilesystem): Promise<HealthFault[]> {
  const known = new Set([
    ...(await store.boxes.all()).map(({ root }) => root),
    ...(await store.volumes.all()).map(({ subvolume }) => subvolume),
    ...(await store.bases.all()).map(({ subvolume }) => subvolume),
    ...(await store.tombstones.all()).map(({ root }) => root),
  ])
  const unknown = (await filesystem.list()).filter((name) => !known.has(name))
  if (unknown.length === 0) return []
  return [
    {
      code: 'unknown_subvolumes',
      evidence: `The pool holds ${unknown.length} subvolumes that no record knows: ${unknown.slice(0, 5).join(', ')}.`,
      remedy: 'Restore the database they belong to, or remove them by hand once nothing in them is missed.',
    },
  ]
}
