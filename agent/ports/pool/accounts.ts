/**
 * Counts the bytes that each project stores. A *thing* is anything named in the storage, such as a box's disk, a volume, a snapshot, a
 * base or a copy for a preview. Each thing belongs to one project or to the deployment.
 *
 * - The project of the thing that first wrote a byte pays for it, compressed and with the metadata. It pays until the last thing that has
 *   the byte is gone, regardless of that thing's owner. So a copy costs nothing, and bytes of a deleted thing count while a copy keeps
 *   them.
 * - A copy shares bytes of the deployment's things for free.
 * - A deleted thing counts until its space is free again.
 */
export interface StorageAccounts {
  /**
   * Returns what the project keeps, or 0 if it keeps nothing. Counts written data at once, uncompressed until it reaches the disk. Counts
   * metadata and deletions as of the last commit, at most 30 seconds ago.
   */
  usedBytes(project: string): Promise<number>
  /** Returns what each project keeps, of those that have had something. */
  all(): Promise<Map<string, number>>
  /**
   * Limits what the project keeps, also before it has anything. Null lifts the limit. Every write beyond it fails (EDQUOT), whether a box
   * or this agent writes. Copying, deleting and sealing things still works, and each new thing may exceed the limit by 64 KiB. A limit
   * survives a restart of the agent until it is set again.
   */
  limit(project: string, bytes: number | null): Promise<void>
  /** Resolves once the space of things that were deleted so far is free again, or after two seconds. */
  settle(): Promise<void>
  /** Gives things to their projects, with what they have written so far. Null: the deployment. Skips names that are gone. */
  assign(owners: ReadonlyMap<string, string | null>): Promise<void>
}
