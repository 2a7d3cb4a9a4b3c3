import { createLimiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import { repeat } from '../../../shared/repeat.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { StorageAccounts } from '../../ports/pool/accounts.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { StorageBounds } from '../common/storage-bounds.ts'

export interface PoolSharesDeps {
  filesystem: Pick<CowFilesystem, 'capacity' | 'condition' | 'commit'>
  accounts: Pick<StorageAccounts, 'all'>
  bounds: Pick<StorageBounds, 'hold' | 'held'>
  clock: Clock
  logger: Logger
  /** Percentage of the pool reserved for projects that hold less than that percentage. 0 for none. */
  reservePercent: number
}

/** Reserves a part of the pool for projects that hold little. */
export interface PoolShares {
  /** Samples once: stops the growth of projects that hold too much of a nearly full pool, or allows it again. */
  check(): Promise<void>
  /** Stops sampling. Bounds stay until the next start, which sets all of them. */
  close(): void
}

/**
 * Checks the pool twice a second. While less than the reserve is free, in the whole pool or in its metadata, no project that keeps more
 * than the reserve can grow. Its bound is the amount that it keeps. Growth is possible again once 1.5 times the reserve is free, or the
 * project keeps less. Data and metadata count the same, as in quotas.
 */
export function startPoolShares(deps: PoolSharesDeps): PoolShares {
  const { logger, clock, bounds, reservePercent } = deps
  const held = bounds.held()
  let last = { left: 0, at: 0 }
  const turn = createLimiter(1)
  const check = (): Promise<void> =>
    turn.run(async () => {
      const { left, reserveBytes } = await measure(deps)
      const at = clock.now()
      const perSecond = Math.max(0, (last.left - left) / (at - last.at)) * 1000
      last = { left, at }
      // A fast writer continues while the pool is committed and bounds are set.
      const isShort = left - perSecond * LEAD_SECONDS < reservePercent
      if (!isShort && (held.size === 0 || left < reservePercent * RELEASE_FACTOR)) return
      const before = held.size
      await holdBack(deps, isShort ? reserveBytes : Number.POSITIVE_INFINITY)
      if (held.size > 0 !== before > 0)
        logger.warn(held.size > 0 ? 'limiting projects that hold much of the pool' : 'all projects may grow again')
    })
  const onError = (error: unknown): void => logger.error('failed to enforce shares of the pool', { error })
  const stop = reservePercent === 0 ? () => undefined : repeat(check, { everyMs: EVERY_MS, onError })
  return { check, close: stop }
}

/** Returns the free percentage of the pool or of its metadata, whichever is less, and the reserve of the whole pool in bytes. */
async function measure({
  filesystem,
  reservePercent,
}: PoolSharesDeps): Promise<{ left: number; reserveBytes: number }> {
  const [{ totalBytes, availableBytes }, { data, metadata }] = [
    await filesystem.capacity(),
    await filesystem.condition(),
  ]
  // Unallocated space can become metadata.
  const unallocated = Math.max(0, availableBytes - (data.totalBytes - data.usedBytes))
  const names = metadata.totalBytes - metadata.usedBytes - metadata.pendingBytes + unallocated
  const left = Math.min(
    (availableBytes - data.pendingBytes) / totalBytes,
    names / Math.max(1, metadata.totalBytes + unallocated),
  )
  return { left: left * 100, reserveBytes: Math.floor((totalBytes * reservePercent) / 100) }
}

/** Stops the growth of projects that keep more than `most` bytes, and allows it to the others. */
async function holdBack({ filesystem, accounts, bounds }: PoolSharesDeps, most: number): Promise<void> {
  // Otherwise deletions and metadata of the last half minute would not count.
  await filesystem.commit()
  const held = bounds.held()
  for (const [project, bytes] of await accounts.all()) {
    if (bytes > most) await bounds.hold(project, Math.min(bytes, held.get(project) ?? Number.POSITIVE_INFINITY))
    else if (held.has(project)) await bounds.hold(project, null)
  }
}

const EVERY_MS = 500
const LEAD_SECONDS = 2
/** How many times the reserve must be free before all projects can grow again. */
const RELEASE_FACTOR = 1.5
