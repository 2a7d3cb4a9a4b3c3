import type { Logger } from '../../shared/log.ts'
import type { Clock } from '../ports/clock.ts'
import type { CowFilesystem } from '../ports/cow-filesystem.ts'
import type { Runtime } from '../ports/runtime.ts'
import type { Store, Tombstone } from '../ports/store.ts'
import { withDeadline } from './deadline.ts'
import { createLimiter } from './limiter.ts'

/** Destroys what deleted boxes leave: processes first, then the subvolume, then the tombstone itself. */
export interface Graves {
  add(tombstone: Tombstone): void
  has(id: string): boolean
  /** Destroys the remains of `id`, and stops what runs under that id without a record. Rejects if it must be tried again. */
  destroy(id: string): Promise<void>
  /** Those that failed at least once, and why. */
  stuck(): { id: string; error: string }[]
}

export interface GravesDeps {
  store: Store
  runtime: Runtime
  filesystem: CowFilesystem
  clock: Clock
  logger: Logger
}

/** What it holds is bounded by the tombstones stored. */
export function createGraves({ store, runtime, filesystem, clock, logger }: GravesDeps): Graves {
  const graves = new Map<string, Tombstone>()
  const failures = new Map<string, string>()
  const limiter = createLimiter(DESTROYS_AT_ONCE)

  const destroy = async (id: string): Promise<void> => {
    const tombstone = graves.get(id)
    if (!tombstone) logger.warn('what runs without a record is stopped; its root stays', { box: id })
    await runtime.stop(id, { graceMs: 0 })
    if (!tombstone) return
    await filesystem.destroy(tombstone.root)
    await store.tombstones.remove(id)
    graves.delete(id)
  }
  return {
    add: (tombstone) => void graves.set(tombstone.id, tombstone),
    has: (id) => graves.has(id),
    destroy: (id) =>
      limiter.run(async () => {
        try {
          const options = { ms: DESTROY_MS, what: 'The remains were not destroyed', clock, onLate: () => undefined }
          await withDeadline(destroy(id), options)
          failures.delete(id)
        } catch (error) {
          failures.set(id, error instanceof Error ? error.message : String(error))
          throw error
        }
      }),
    stuck: () => [...failures].map(([id, error]) => ({ id, error })),
  }
}

const DESTROYS_AT_ONCE = 4
const DESTROY_MS = 60_000
