import type { HealthFault } from '../../../shared/schemas/health.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import { subvolumesFor } from '../reconcile/pending-restore.ts'
import { subvolumesOf } from '../snapshots/snapshots.ts'

/** Lists the subvolumes that records refer to. */
export async function wantedSubvolumes(store: Store): Promise<string[]> {
  const boxes: string[] = []
  for await (const { root, restore } of store.boxes.each())
    boxes.push(root, ...(restore === null ? [] : subvolumesFor(restore)))
  return [
    ...boxes,
    ...(await store.volumes.all()).map(({ subvolume }) => subvolume),
    ...(await store.snapshots.all()).flatMap(subvolumesOf),
    ...(await store.backups.all()).flatMap(({ subvolume }) => subvolume ?? []),
    ...(await store.bases.all()).map(({ subvolume }) => subvolume),
  ]
}

/**
 * Compares pool and records. Subvolumes without a record are reported and never removed: a lost or restored database must not
 * erase data. Boxes and volumes whose subvolume is missing can still be deleted.
 */
export async function findSubvolumeFaults(store: Store, filesystem: CowFilesystem): Promise<HealthFault[]> {
  const wanted = await wantedSubvolumes(store)
  const known = new Set([...wanted, ...(await store.tombstones.all()).map(({ root }) => root)])
  const there = new Set(await filesystem.list())
  return [
    ...faultOf(
      [...there].filter((name) => !known.has(name)),
      {
        code: 'unknown_subvolumes',
        what: 'The pool holds subvolumes that no record knows',
        remedy: 'Restore the database they belong to, or remove them by hand once nothing in them is missed.',
      },
    ),
    ...faultOf(
      wanted.filter((name) => !there.has(name)),
      {
        code: 'missing_subvolumes',
        what: 'The pool lacks subvolumes of boxes, volumes or bases',
        remedy: 'Restore the pool that belongs to this database, or delete what they belonged to.',
      },
    ),
  ]
}

function faultOf(
  names: readonly string[],
  { code, what, remedy }: { code: string; what: string; remedy: string },
): HealthFault[] {
  if (names.length === 0) return []
  return [{ code, evidence: `${what}, ${names.length} in all: ${names.slice(0, 5).join(', ')}.`, remedy }]
}
