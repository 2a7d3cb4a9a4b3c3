/**
 * Awaits a commit, or other work whose outcome is unknown after a failure. A commit that rejects may be stored, for example if the disk
 * fails to sync it. If it rejects, calls `onDoubt`, which aligns the rest with the stored state, and rethrows.
 */
export async function awaitCommit<T>(commit: Promise<T>, onDoubt: () => unknown): Promise<T> {
  try {
    return await commit
  } catch (error) {
    await onDoubt()
    throw error
  }
}
