import type { BoxUsage, Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem, SubvolumeUsage } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/store.ts'

export interface BoxMetricsDeps {
  runtime: Runtime
  filesystem: CowFilesystem
  clock: Clock
}

/** What a box uses at `at`, in ms since the epoch. */
export interface BoxMetrics {
  at: number
  /** Null if it does not run. */
  usage: BoxUsage | null
  /** Bytes written to its disk since it was made. */
  storageBytes: number
  /** Of its disk alone; null if it is being replaced just now. */
  disk: SubvolumeUsage | null
}

/** Reads the kernel's counters of a box, and counts what only its disk has. */
export async function measureBox(
  { runtime, filesystem, clock }: BoxMetricsDeps,
  { id, root }: BoxRecord,
): Promise<BoxMetrics> {
  const [usage, storageBytes, [disk = null]] = await Promise.all([
    runtime.usage(id),
    filesystem.usedBytes(root),
    filesystem.measure([root]),
  ])
  return { at: clock.now(), usage, storageBytes, disk }
}
