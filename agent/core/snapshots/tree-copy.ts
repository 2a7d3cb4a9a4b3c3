import type { CowFilesystem, SnapshotRequest } from '../../ports/pool/cow-filesystem.ts'

/**
 * Copies the subvolume that `find` names, as it is now. If a restore replaces it meanwhile, copies its successor. Cost does not
 * depend on size.
 * @throws the errors of `find` for one that is deleted meanwhile
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
