import { createLimiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { ExecOutputs } from '../../ports/exec/outputs.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import { withDeadline, withTimer } from '../common/deadline.ts'
import type { KeyedQueue } from '../common/keyed-queue.ts'
import { createWaiters } from '../common/waiters.ts'
import { releaseName } from '../fleet/homes.ts'

/** Destroys the remains of deleted boxes and volumes: processes first, then the subvolume, then the name, then the tombstone itself. */
export interface Reaper {
  /** Puts a tombstone in the queue. `trees` are the host paths that processes of the deleted box may still have mounted. */
  scheduleDestroy(tombstone: Tombstone, trees?: readonly string[]): void
  has(id: string): boolean
  /** Destroys the remains of `id`, and stops processes under that id without a record. Rejects if it must be tried again. */
  destroy(id: string): Promise<void>
  /** Resolves true once no deleted box but `exceptId` has any of `trees` mounted, or false after `timeoutMs`. */
  untilFree(trees: readonly string[], timeoutMs: number, exceptId?: string): Promise<boolean>
  /** Ids whose last attempt failed, with the error. */
  stuck(): { id: string; error: string }[]
}

export interface ReaperDeps {
  store: Store
  runtime: Runtime
  filesystem: CowFilesystem
  directory: Directory
  outputs: Pick<ExecOutputs, 'removeBox'>
  clock: Clock
  logger: Logger
  /** Calls `destroy` for each id it is given, in turn with the other steps of that id. */
  queue: Pick<KeyedQueue, 'add'>
}

/** Holds one entry for each tombstone stored. */
export function createReaper(deps: ReaperDeps): Reaper {
  const { store, runtime, filesystem, directory, outputs, clock, logger, queue } = deps
  const tombstones = new Map<string, Tombstone>()
  const failures = new Map<string, string>()
  const mounted = new Map<string, readonly string[]>()
  const waiters = createWaiters()
  const limiter = createLimiter(DESTROYS_AT_ONCE)

  const isFree = (trees: readonly string[], exceptId?: string): boolean =>
    ![...mounted].some(([id, paths]) => id !== exceptId && paths.some((tree) => trees.includes(tree)))
  const untilFree: Reaper['untilFree'] = async (trees, timeoutMs, exceptId) => {
    if (isFree(trees, exceptId)) return true
    const condition = { read: async () => isFree(trees, exceptId), isDone: (free: boolean) => free }
    return withTimer({ clock, ms: timeoutMs }, (timeout) => waiters.until(FREED, { ...condition, timeout }))
  }
  const destroy = async (id: string): Promise<void> => {
    const tombstone = tombstones.get(id)
    if (!tombstone) logger.warn('stopping a box without a record, its root stays', { box: id })
    await runtime.stop(id, { graceMs: 0 })
    if (mounted.delete(id)) waiters.notify(FREED)
    if (!tombstone) return
    const tree = filesystem.path(tombstone.root)
    if (!isFree([tree])) throw new Error(`a deleted box still has ${tombstone.root} mounted`)
    await outputs.removeBox(id)
    await filesystem.destroy(tombstone.root)
  }
  const bury = async (id: string): Promise<void> => {
    const tombstone = tombstones.get(id)
    if (!tombstone) return
    if (tombstone.home !== undefined) await releaseName(directory, tombstone.home)
    await store.tombstones.remove(id)
    tombstones.delete(id)
  }
  const attempt = async (id: string, step: (id: string) => Promise<void>, what: string): Promise<void> => {
    try {
      await withDeadline(step(id), { ms: DESTROY_MS, what, clock, onLate: () => undefined })
      failures.delete(id)
    } catch (error) {
      failures.set(id, error instanceof Error ? error.message : String(error))
      throw error
    }
  }
  return {
    scheduleDestroy: (tombstone, trees = []) => {
      tombstones.set(tombstone.id, tombstone)
      if (trees.length > 0) mounted.set(tombstone.id, trees)
      queue.add(tombstone.id)
    },
    has: (id) => tombstones.has(id),
    untilFree,
    destroy: async (id) => {
      const tombstone = tombstones.get(id)
      // Waits outside the limiter, so that the destroys it waits for can get a slot.
      if (tombstone) await untilFree([filesystem.path(tombstone.root)], DESTROY_MS)
      await limiter.run(() => attempt(id, destroy, 'The remains were not destroyed'))
      // Also runs outside the limiter. A directory that does not answer must not keep processes of other boxes alive.
      await attempt(id, bury, 'The name was not given up')
    },
    stuck: () => [...failures].map(([id, error]) => ({ id, error })),
  }
}

const DESTROYS_AT_ONCE = 4
const DESTROY_MS = 60_000
const FREED = 'freed'
