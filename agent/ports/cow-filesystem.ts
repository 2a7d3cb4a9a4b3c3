/**
 * A pool of named copy-on-write trees ("subvolumes"). Names match `[a-z0-9_]{1,64}`, are final (never renamed)
 * and are chosen by the core: `sub_<id>` for a box root, `bas_…` for a base. What a method did is durable when it returns.
 */
export interface CowFilesystem {
  /** The kind of driver, as `GET /version` tells it: `btrfs`. */
  readonly kind: string
  /** A random id made with the pool and kept in it; a database that knows another id must not be used with it. */
  readonly poolId: string
  /** The host path of a subvolume, whether it exists or not. */
  path(name: string): string
  exists(name: string): Promise<boolean>
  /** Every subvolume at the top of the pool. */
  list(): Promise<string[]>
  /** Makes an empty writable subvolume. Fails with `storage_full`. */
  create(name: string): Promise<void>
  /**
   * Makes `name` a copy of `source` as it is now, un-fsynced data included; cost does not depend on size.
   * `quotaBytes` bounds what is written to the copy from now on; null is unbounded. An existing `name` is an error.
   */
  snapshot(request: SnapshotRequest): Promise<void>
  /** Read-only, it also holds durably what was written to it before. */
  setReadOnly(name: string, isReadOnly: boolean): Promise<void>
  setQuota(name: string, quotaBytes: number | null): Promise<void>
  /**
   * Destroys a subvolume and those nested in it; an absent one is a success. The caller has proven that nothing uses it:
   * its cgroup is empty and its mounts are gone. Never follows a link out of the subvolume.
   */
  destroy(name: string): Promise<void>
  /** Bytes written to the subvolume since it was made (compressed), which its quota bounds. */
  usedBytes(name: string): Promise<number>
  capacity(): Promise<PoolCapacity>
  /** Unmounts; the pool and what it holds stay. */
  close(): Promise<void>
}

export interface SnapshotRequest {
  source: string
  name: string
  isReadOnly: boolean
  quotaBytes: number | null
}

/** Bytes of the filesystem that holds the pool's data, as it measures them at the call. */
export interface PoolCapacity {
  path: string
  totalBytes: number
  usedBytes: number
  availableBytes: number
}
