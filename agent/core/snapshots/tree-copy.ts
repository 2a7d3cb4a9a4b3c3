import type { CowFilesystem, SnapshotRequest } from '../../ports/pool/cow-filesystem.ts'

/**
 * Copies the current state of the subvolume that `find` names. If a restore replaces it during the copy, copies its successor. The
 * cost does not depend on the size.
 * @throws the errors of `find` if it is deleted during the copy
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
