import { createLimiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import { repeat } from '../../../shared/repeat.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import { bytesOf } from '../common/sizes.ts'

export interface PoolSharesDeps {
  store: Pick<Store, 'boxes' | 'volumes'>
  filesystem: Pick<CowFilesystem, 'capacity' | 'condition' | 'commit' | 'usedBytes' | 'setQuota'>
  clock: Clock
  logger: Logger
  /** Part of the pool, in percent, that only projects which hold less than that take; 0: none. */
  reservePercent: number
}

/** Keeps a part of the pool from the projects that hold most of it. */
export interface PoolShares {
  /** Looks once: holds back the projects that hold too much of a pool that is nearly full, or lets them go on. */
  check(): Promise<void>
  /** Stops looking; what is held back stays so until the next start, which sets all quotas. */
  close(): void
}

/**
 * Checks the pool twice a second. While less than the reserve is left, of all or of the metadata alone, no box and no volume of a project that holds more than the
 * reserve can grow: their quotas are what they hold. They are those of the records again once half as much more is free, or the
 * project holds less. Data and metadata count alike, as quotas do.
 */
export function startPoolShares(deps: PoolSharesDeps): PoolShares {
  const { logger, clock, reservePercent } = deps
  /** Quotas that are in force in the place of those of the records, by subvolume. */
  const held = new Map<string, number>()
  let last = { left: 0, at: 0 }
  const turn = createLimiter(1)
  const check = (): Promise<void> =>
    turn.run(async () => {
      const { left, reserveBytes } = await measure(deps)
      const at = clock.now()
      const perSecond = Math.max(0, (last.left - left) / (at - last.at)) * 1000
      last = { left, at }
      // A fast writer goes on while the pool is committed and quotas are set.
      const isShort = left - perSecond * LEAD_SECONDS < reservePercent
      if (!isShort && (held.size === 0 || left < reservePercent * RELEASE_FACTOR)) return
      const before = held.size
      await holdBack(deps, held, isShort ? reserveBytes : Number.POSITIVE_INFINITY)
      if (held.size > 0 !== before > 0)
        logger.warn(held.size > 0 ? 'projects that hold much of the pool are held back' : 'all projects may grow again')
    })
  const onError = (error: unknown): void => logger.error('the shares of the pool could not be kept', { error })
  const stop = reservePercent === 0 ? () => undefined : repeat(check, { everyMs: EVERY_MS, onError })
  return { check, close: stop }
}

/** Returns how much is left of the pool or of its metadata, whichever is less, in percent; and the reserve of the whole in bytes. */
async function measure({
  filesystem,
  reservePercent,
}: PoolSharesDeps): Promise<{ left: number; reserveBytes: number }> {
  const [{ totalBytes, availableBytes }, { data, metadata }] = [
    await filesystem.capacity(),
    await filesystem.condition(),
  ]
  // What is allocated to neither may become metadata.
  const unallocated = Math.max(0, availableBytes - (data.totalBytes - data.usedBytes))
  const names = metadata.totalBytes - metadata.usedBytes - metadata.pendingBytes + unallocated
  const left = Math.min(
    (availableBytes - data.pendingBytes) / totalBytes,
    names / Math.max(1, metadata.totalBytes + unallocated),
  )
  return { left: left * 100, reserveBytes: Math.floor((totalBytes * reservePercent) / 100) }
}

interface Tree {
  name: string
  project: string
  quotaBytes: number
}

/** Holds back the projects that hold more than `most` bytes, and lets those go on that do not. */
async function holdBack(deps: PoolSharesDeps, held: Map<string, number>, most: number): Promise<void> {
  // Else what was written in the last half minute counts for nobody.
  await deps.filesystem.commit()
  const trees = await listTrees(deps)
  const used = new Map<string, number>()
  const perProject = new Map<string, number>()
  for (const { name, project } of trees) {
    const bytes = await usedBytes(deps, name)
    used.set(name, bytes)
    perProject.set(project, (perProject.get(project) ?? 0) + bytes)
  }
  const isOver = ({ project }: Tree): boolean => (perProject.get(project) ?? 0) > most
  const changes = trees.map(async (tree) => {
    if (isOver(tree)) {
      // Also if it is held already: a request may have set another quota meanwhile.
      const bytes = Math.min(used.get(tree.name) ?? 0, held.get(tree.name) ?? Number.POSITIVE_INFINITY, tree.quotaBytes)
      held.set(tree.name, bytes)
      await setQuota(deps, tree.name, bytes)
    } else if (held.delete(tree.name)) await setQuota(deps, tree.name, tree.quotaBytes)
  })
  await Promise.all(changes)
  const names = new Set(trees.map(({ name }) => name))
  for (const name of held.keys()) if (!names.has(name)) held.delete(name)
}

async function listTrees({ store }: PoolSharesDeps): Promise<Tree[]> {
  const boxes: Tree[] = []
  for await (const { root, project, config } of store.boxes.each())
    boxes.push({ name: root, project, quotaBytes: bytesOf(config.storage_gb) })
  return [
    ...boxes,
    ...(await store.volumes.all()).map(({ subvolume, project, sizeGb }) => ({
      name: subvolume,
      project,
      quotaBytes: bytesOf(sizeGb),
    })),
  ]
}

// One that is made or destroyed meanwhile is met at the next check.
async function usedBytes({ filesystem }: PoolSharesDeps, name: string): Promise<number> {
  return filesystem.usedBytes(name).catch(() => 0)
}

async function setQuota({ filesystem }: PoolSharesDeps, name: string, bytes: number): Promise<void> {
  await filesystem.setQuota(name, bytes).catch(() => undefined)
}

const EVERY_MS = 500
const LEAD_SECONDS = 2
/** How many times the reserve must be free for all to go on. */
const RELEASE_FACTOR = 1.5
