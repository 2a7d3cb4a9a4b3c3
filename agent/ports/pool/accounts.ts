/**
 * What is stored because of each project, in bytes. Everything that is made in the storage (the disk of a box, a volume, a snapshot,
 * a base, a copy for a preview) is a *thing* with a name, and belongs to one project or to the deployment.
 *
 * - The project of the thing that wrote a byte first pays for it, compressed and with the metadata, until the last thing that has it
 *   is gone, whoever that belongs to. So a copy costs nothing, and bytes of a deleted thing count while a copy keeps them.
 * - What a copy shares with a thing of the deployment is free.
 * - A deleted thing counts until its space is free again.
 */
export interface StorageAccounts {
  /**
   * Returns what the project keeps; 0 for one that keeps nothing. Counts written data at once, uncompressed until it reaches the disk;
   * metadata and deletions count as of the last commit, at most 30 seconds ago.
   */
  usedBytes(project: string): Promise<number>
  /** Returns what each project keeps, of those that have had something. */
  all(): Promise<Map<string, number>>
  /**
   * Bounds what the project keeps, also before it has anything; null lifts the bound. It refuses every write (EDQUOT) that would go
   * beyond, of boxes and of this agent alike. Copying, deleting and sealing things go on: each new thing may take 64 KiB beyond it.
   * A bound stays over a restart of the agent until it is set again.
   */
  limit(project: string, bytes: number | null): Promise<void>
  /** Resolves once the space of things that were deleted so far is free again, or after two seconds. */
  settle(): Promise<void>
  /** Gives things to their projects, with what they have written so far; null: the deployment. Skips names that are gone. */
  assign(owners: ReadonlyMap<string, string | null>): Promise<void>
}
