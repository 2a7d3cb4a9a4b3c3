import { createLimiter } from '../../../shared/locks.ts'
import { duplicateFd } from '../../lib/syscalls/descriptors.ts'
import type { FileThreads } from '../../lib/threads/threads.ts'
import type { SubvolumeUsage } from '../../ports/pool/cow-filesystem.ts'
import { topSubvolumes } from './subvolumes.ts'
import type { BtrfsTasks } from './tasks.ts'

/** Measures subvolumes of a pool, at most one time at once: what it looks at may be a million extents. */
export interface BtrfsUsage {
  /** Of each, in the order of the names; null for one that is not there. */
  measure(names: readonly string[]): Promise<(SubvolumeUsage | null)[]>
}

export function createBtrfsUsage({
  rootFd,
  threads,
}: {
  rootFd: number
  threads: FileThreads<BtrfsTasks>
}): BtrfsUsage {
  const limiter = createLimiter(1)
  // Of those that never change.
  const sizes = new Map<number, number>()
  const measure = async (names: readonly string[]): Promise<(SubvolumeUsage | null)[]> => {
    const ids = new Map(topSubvolumes(rootFd).map(({ name, id }) => [name, Number(id)]))
    const wanted = [...new Set(names)].flatMap((name) => ids.get(name) ?? [])
    const targets = wanted.map((id) => ({ id, knownBytes: sizes.get(id) ?? null }))
    const fd = duplicateFd(rootFd)
    const measured = await threads.run('usage', { name: 'usage', argument: { fd, targets }, fds: [fd] })
    const found = new Map(wanted.map((id, index) => [id, measured[index] ?? null]))
    for (const [id, usage] of found) if (usage?.isReadOnly) sizes.set(id, usage.sizeBytes)
    forget(sizes, ids.values())
    return names.map((name) => {
      const usage = found.get(ids.get(name) ?? -1)
      return usage ? { sizeBytes: usage.sizeBytes, uniqueBytes: usage.uniqueBytes } : null
    })
  }
  return { measure: (names) => limiter.run(() => measure(names)) }
}

function forget(sizes: Map<number, number>, alive: Iterable<number>): void {
  const isAlive = new Set(alive)
  for (const id of sizes.keys()) if (!isAlive.has(id)) sizes.delete(id)
}
