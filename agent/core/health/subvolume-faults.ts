import type { HealthFault } from '../../../shared/schemas/health.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import { forkIdsOf, instancesOf } from '../common/service-instances.ts'
import { subvolumesFor } from '../reconcile/pending-restore.ts'
import { subvolumesOf } from '../snapshots/snapshots.ts'

/** Lists the subvolumes that records refer to. */
export async function wantedSubvolumes(store: Store): Promise<string[]> {
  return (await ownedSubvolumes(store)).map(([name]) => name)
}

/** Returns the project of each subvolume that a record refers to, forks included. Null for the deployment. */
export async function subvolumeOwners(store: Store): Promise<Map<string, string | null>> {
  const owners = new Map(await ownedSubvolumes(store))
  for await (const record of store.services.eachWithFork()) {
    const box = await store.boxes.byId(record.boxId)
    if (box === null) continue
    for (const { fork } of instancesOf(record)) {
      if (fork === null) continue
      for (const name of [fork.root, ...forkIdsOf(fork).slice(1)]) owners.set(name, box.project)
    }
  }
  return owners
}

async function ownedSubvolumes(store: Store): Promise<[name: string, project: string | null][]> {
  const owned: [string, string | null][] = []
  const add = (project: string | null, ...names: string[]): void => {
    for (const name of names) owned.push([name, project])
  }
  for await (const { project, root, restore } of store.boxes.each())
    add(project, root, ...(restore === null ? [] : subvolumesFor(restore)))
  for (const { project, subvolume } of await store.volumes.all()) add(project, subvolume)
  for (const record of await store.snapshots.all()) add(record.project, ...subvolumesOf(record))
  for (const { project, subvolume } of await store.backups.all()) if (subvolume !== null) add(project, subvolume)
  for (const { project, subvolume } of await store.bases.all()) add(project, subvolume)
  return owned
}

/**
 * Compares pool and records. Subvolumes without a record are reported and never removed, because a lost or restored database must not erase
 * data. Boxes and volumes whose subvolume is missing can still be deleted.
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
        what: 'The pool has subvolumes without a record in the database',
        remedy: 'Restore the database that they belong to, or remove them by hand if you do not need them.',
      },
    ),
    ...faultOf(
      wanted.filter((name) => !there.has(name)),
      {
        code: 'missing_subvolumes',
        what: 'Subvolumes of boxes, volumes or bases are missing in the pool',
        remedy: 'Restore the pool that belongs to this database, or delete the boxes, volumes and bases.',
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
