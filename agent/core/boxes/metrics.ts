import type { BoxUsage, Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem, SubvolumeUsage } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'

export interface BoxMetricsDeps {
  runtime: Runtime
  filesystem: CowFilesystem
  clock: Clock
}

/** The usage of a box. */
export interface BoxMetrics {
  /** When it was measured, ms since the epoch. */
  at: number
  /** Null if the box does not run. */
  usage: BoxUsage | null
  /** Bytes written to its disk since it was made. */
  storageBytes: number
  /** Usage of its root subvolume; null while a restore replaces that. */
  disk: SubvolumeUsage | null
}

/** Reads the kernel's counters of a box, and counts the bytes that only its root refers to. */
export async function measureBox(
  { runtime, filesystem, clock }: BoxMetricsDeps,
  { id, root, project }: BoxRecord,
): Promise<BoxMetrics> {
  const [usage, storageBytes, [disk = null]] = await Promise.all([
    runtime.usage(id),
    filesystem.usedBytes(root),
    filesystem.measure([root], project),
  ])
  return { at: clock.now(), usage, storageBytes, disk }
}
