import type { CowFilesystem, SnapshotRequest } from '../../ports/pool/cow-filesystem.ts'

/**
 * Copies the subvolume that `find` tells of, as it is now: a restore may replace it at any time, or somebody delete it,
 * which `find` then throws. Cost does not depend on size.
 */
export async function copyTree(
  filesystem: CowFilesystem,
  find: () => Promise<string>,
  copy: Omit<SnapshotRequest, 'source'>,
): Promise<void> {
  for (let source = await find(); ; ) {
    try {
      return await filesystem.snapshot({ ...copy, source })
    } catch (error) {
      const now = await find()
      if (now === source) throw error
      source = now
    }
  }
}
