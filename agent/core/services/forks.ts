import { newId } from '../../../shared/ids.ts'
import type { Logger } from '../../../shared/log.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, MountRecord } from '../../ports/store/boxes.ts'
import type { ForkRecord } from '../../ports/store/services.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import { asFork, forksOf } from '../common/service-instances.ts'
import { bytesOf } from '../common/sizes.ts'
import { boxSpecOf, type SpecLimits } from '../reconcile/box-spec.ts'

export interface ForksDeps {
  store: Store
  runtime: Runtime
  filesystem: CowFilesystem
  clock: Clock
  logger: Logger
  /** See Reconciler.scheduleDestroy. */
  scheduleDestroy(tombstone: Tombstone, trees?: readonly string[]): void
  limits: SpecLimits
}

/**
 * Forks of boxes, in which previews run. The tombstones of a fork are written before it is made, so that a crash leaves nothing
 * behind. A fork lasts while the record of a service names it, then it is destroyed.
 */
export interface Forks {
  /** Reads the forks of earlier processes from the records. Call once, before the other methods. */
  recover(): Promise<void>
  /**
   * Copies the root of a box, and with `withCopies` its data volumes, which are mounted read-only otherwise. `write` records the fork. If
   * it rejects, the fork is destroyed.
   */
  make(box: BoxRecord, withCopies: boolean, write: (fork: ForkRecord) => Promise<void>): Promise<void>
  /** Starts the init of a fork, unless it runs. A new one first gets its own identity, as any forked box does. */
  start(box: BoxRecord, fork: ForkRecord, options: { isNew: boolean }): Promise<void>
  /** Kills all processes of a fork. Its disk stays. */
  halt(fork: ForkRecord): Promise<void>
  /** Destroys the forks that no record names any more. Tries again if the records cannot be read. */
  sweep(): Promise<void>
}

/** Keeps the existing forks in memory, bounded by the services that have one. */
export function createForks(deps: ForksDeps): Forks {
  const { store, runtime, filesystem, clock, logger } = deps
  const known = new Map<string, ForkRecord>()
  const making = new Set<string>()
  const sweep = (): Promise<void> =>
    destroyUnnamed().catch((error: unknown) => {
      logger.error('failed to find forks without a service', { error })
      void clock.sleep(RETRY_MS).then(sweep)
    })
  const destroyUnnamed = async (): Promise<void> => {
    // Taken before the records are read, so that a fork recorded in between is not destroyed.
    const made = [...known.values()].filter(({ boxId }) => !making.has(boxId))
    if (made.length === 0) return
    const kept = new Set((await forksOf(store)).map(({ boxId }) => boxId))
    for (const fork of made) {
      const { boxId } = fork
      if (kept.has(boxId) || !known.delete(boxId)) continue
      const trees = fork.mounts.map(({ subvolume }) => filesystem.path(subvolume))
      for (const each of tombstonesOf(fork, clock.now())) deps.scheduleDestroy(each, each.id === boxId ? trees : [])
    }
  }
  return {
    sweep,
    recover: async () => {
      for (const fork of await forksOf(store)) known.set(fork.boxId, fork)
    },
    make: async (box, withCopies, write) => {
      const fork = newFork(box, withCopies, clock.now())
      known.set(fork.boxId, fork)
      making.add(fork.boxId)
      try {
        for (const each of tombstonesOf(fork, clock.now())) await store.tombstones.insert(each)
        await copyTrees(deps, box, fork)
        await write(fork)
      } finally {
        making.delete(fork.boxId)
        await sweep()
      }
    },
    start: async (box, fork, { isNew }) => {
      const mounts = fork.mounts.map((mount) => ({ ...mount, volumeId: '', name: '' }))
      // Uses another name, so that the name of the box still resolves to the box.
      const name = fork.boxId.replace('_', '-')
      const observed = { ...box.observed, hasRun: !isNew }
      const own = { ...asFork(box, fork), name, observed, root: fork.root, mounts }
      await runtime.start(boxSpecOf(own, filesystem, deps.limits))
    },
    halt: ({ boxId }) => runtime.stop(boxId, { graceMs: 0 }),
  }
}

function newFork({ mounts }: BoxRecord, withCopies: boolean, now: number): ForkRecord {
  const boxId = newId('box', now)
  const mount = ({ subvolume, path }: MountRecord): ForkRecord['mounts'][number] =>
    withCopies ? { subvolume: `sub_${newId('vol', now)}`, path, readOnly: false } : { subvolume, path, readOnly: true }
  return { boxId, root: `sub_${boxId}`, mounts: mounts.map(mount) }
}

async function copyTrees({ filesystem }: ForksDeps, box: BoxRecord, fork: ForkRecord): Promise<void> {
  const { project } = box
  const quotaBytes = bytesOf(box.config.storage_gb)
  const copies = fork.mounts.flatMap(({ subvolume: name, readOnly }, index) =>
    readOnly ? [] : [{ name, source: box.mounts[index]?.subvolume ?? '' }],
  )
  for (const copy of [{ name: fork.root, source: box.root }, ...copies])
    await filesystem.snapshot({ ...copy, project, isReadOnly: false, quotaBytes })
}

function tombstonesOf({ boxId, root, mounts }: ForkRecord, createdAt: number): Tombstone[] {
  const copies = mounts.filter(({ readOnly }) => !readOnly)
  return [{ id: boxId, root, createdAt }, ...copies.map(({ subvolume: id }) => ({ id, root: id, createdAt }))]
}

const RETRY_MS = 1_000
