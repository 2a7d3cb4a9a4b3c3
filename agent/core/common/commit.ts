/**
 * Awaits a commit, or other work whose failure does not tell what it has done: a commit that rejects may be stored, as when the disk
 * fails to sync it. If it rejects, calls `onDoubt`, which has the rest follow whatever is there, and rethrows.
 */
export async function awaitCommit<T>(commit: Promise<T>, onDoubt: () => unknown): Promise<T> {
  try {
    return await commit
  } catch (error) {
    await onDoubt()
    throw error
  }
}
