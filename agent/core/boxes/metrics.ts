import type { BoxUsage, Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { StorageAccounts } from '../../ports/pool/accounts.ts'
import type { CowFilesystem, SubvolumeUsage } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'

export interface BoxMetricsDeps {
  runtime: Runtime
  filesystem: CowFilesystem
  accounts: Pick<StorageAccounts, 'usedBytes'>
  clock: Clock
}

/** The usage of a box. */
export interface BoxMetrics {
  /** When it was measured, ms since the epoch. */
  at: number
  /** Null if the box does not run. */
  usage: BoxUsage | null
  /** Bytes written to its disk since that was made, by a create or the last restore. */
  storageBytes: number
  /** Bytes on the account of the box's project. */
  projectBytes: number
  /** Usage of its root subvolume. Null while a restore replaces that. */
  disk: SubvolumeUsage | null
}

/** Reads the kernel's counters of a box, and counts the bytes that only its root refers to. */
export async function measureBox(
  { runtime, filesystem, accounts, clock }: BoxMetricsDeps,
  { id, root, project }: BoxRecord,
): Promise<BoxMetrics> {
  const [usage, storageBytes, projectBytes, [disk = null]] = await Promise.all([
    runtime.usage(id),
    filesystem.usedBytes(root),
    accounts.usedBytes(project),
    filesystem.measure([root], project),
  ])
  return { at: clock.now(), usage, storageBytes, projectBytes, disk }
}
