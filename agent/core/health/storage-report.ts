import type { Clock } from '../../ports/host/clock.ts'
import type { DiskCapacity } from '../../ports/host/facts.ts'
import type { StorageAccounts } from '../../ports/pool/accounts.ts'
import type { PoolCondition, Scrub } from '../../ports/pool/condition.ts'
import type { CowFilesystem, SubvolumeUsage } from '../../ports/pool/cow-filesystem.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Caller } from '../common/caller.ts'
import { wantedSubvolumes } from './subvolume-faults.ts'

/** Use of storage, without projects that the caller may not read. */
export interface StorageReport {
  capacity: DiskCapacity
  condition: PoolCondition
  boxes: OwnerUsage[]
  volumes: OwnerUsage[]
  bases: { project: string | null; name: string; usage: SubvolumeUsage | null }[]
  /** Storage of each project, by `StorageAccounts`. */
  projects: { project: string; storedBytes: number }[]
  /** Subvolumes without a record or tombstone. */
  orphans: { subvolume: string; usage: SubvolumeUsage | null }[]
  /** Subvolumes waiting to be destroyed. */
  deleting: number
}

/** A box or a data volume. Usage is null where it is missing from the pool. */
export interface OwnerUsage {
  project: string
  name: string
  usage: SubvolumeUsage | null
  snapshots: { name: string; usage: SubvolumeUsage | null }[]
}

export interface Storage {
  /** Measures everything in one pass. */
  report(caller: Caller): Promise<StorageReport>
  /** Starts a scrub unless one runs, and returns its state. */
  scrub(): Promise<Scrub>
}

export interface StorageDeps {
  store: Store
  filesystem: CowFilesystem
  accounts: Pick<StorageAccounts, 'all'>
  clock: Clock
}

export function createStorage({ store, filesystem, accounts, clock }: StorageDeps): Storage {
  return {
    report: async (caller) => {
      const isRead = (project: string): boolean => caller.projects === '*' || caller.projects.includes(project)
      const { there, orphans } = await findOrphans(store, filesystem)
      const usages = await filesystem.measure(there, '')
      const usageOf = new Map(there.map((name, index) => [name, usages[index] ?? null]))
      const snapshots = Map.groupBy(await store.snapshots.all(), ({ owner }) => owner.id)
      const bases = await store.bases.all()
      const view = (record: OwnedTree): OwnerUsage => ({
        project: record.project,
        name: record.name,
        usage: usageOf.get(record.tree) ?? null,
        snapshots: (snapshots.get(record.id) ?? []).map((snapshot) => ({
          name: snapshot.name,
          usage: sumOf(treesOf(snapshot).map((tree) => usageOf.get(tree) ?? null)),
        })),
      })
      const boxes: OwnedTree[] = []
      for await (const { id, project, name, root } of store.boxes.each()) boxes.push({ id, project, name, tree: root })
      const volumes = (await store.volumes.all()).map((record) => ({ ...record, tree: record.subvolume }))
      return {
        capacity: await filesystem.capacity(),
        condition: await filesystem.condition(),
        boxes: boxes.filter(({ project }) => isRead(project)).map(view),
        volumes: volumes.filter(({ project }) => isRead(project)).map(view),
        bases: bases
          .filter(({ project }) => project === null || isRead(project))
          .map(({ project, name, subvolume }) => ({ project, name, usage: usageOf.get(subvolume) ?? null })),
        projects: [...(await accounts.all())].flatMap(([project, storedBytes]) =>
          isRead(project) ? { project, storedBytes } : [],
        ),
        orphans: orphans.map((subvolume) => ({ subvolume, usage: usageOf.get(subvolume) ?? null })),
        deleting: (await store.tombstones.all()).length,
      }
    },
    scrub: async () => {
      await filesystem.startScrub(clock)
      const { scrub } = await filesystem.condition()
      return scrub ?? { status: 'failed', startedAt: clock.now(), endedAt: clock.now(), checkedBytes: 0, errors: 0 }
    },
  }
}

interface OwnedTree {
  id: string
  project: string
  name: string
  tree: string
}

// Creation goes from tombstone to record, deletion from record to tombstone, so one read may miss a subvolume in between. It is
// unknown only if it has neither in the reads before and after the listing.
async function findOrphans(store: Store, filesystem: CowFilesystem): Promise<{ there: string[]; orphans: string[] }> {
  const tombstones = async (): Promise<string[]> => (await store.tombstones.all()).map(({ root }) => root)
  const before = await tombstones()
  const there = await filesystem.list()
  const known = new Set([
    ...before,
    ...(await tombstones()),
    ...(await wantedSubvolumes(store)),
    ...(await tombstones()),
  ])
  return { there, orphans: there.filter((name) => !known.has(name)) }
}

function treesOf({ subvolume, data }: SnapshotRecord): string[] {
  return [subvolume, ...data.map((part) => part.subvolume)]
}

function sumOf(usages: readonly (SubvolumeUsage | null)[]): SubvolumeUsage | null {
  const sum = { sizeBytes: 0, uniqueBytes: 0 }
  for (const usage of usages) {
    if (usage === null) return null
    sum.sizeBytes += usage.sizeBytes
    sum.uniqueBytes += usage.uniqueBytes
  }
  return sum
}
