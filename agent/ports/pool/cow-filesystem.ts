import type { Clock } from '../host/clock.ts'
import type { DiskCapacity } from '../host/facts.ts'
import type { PoolCondition } from './condition.ts'
import type { ChangesPage, ChangesRequest } from './tree-changes.ts'

/**
 * A pool of named copy-on-write trees ("subvolumes"). Names match `[a-z0-9_]{1,64}`, are final (never renamed)
 * and are chosen by the core: `sub_<id>` for a box root, `bas_…` for a base. What a method did is durable when it returns, and
 * what it copied was written out whole: it fails (`internal`) where the disk refused any write meanwhile.
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
   * its cgroup is empty and its mounts are gone. Never follows a link out of the subvolume. Throws as `checkWritable`.
   */
  destroy(name: string): Promise<void>
  /** The same for all subvolumes that were copied, over however many copies, from one that was made or received; null for none. */
  origin(name: string): Promise<string | null>
  /** Bytes written to the subvolume since it was made (compressed), which its quota bounds. */
  usedBytes(name: string): Promise<number>
  /**
   * What differs between two read-only subvolumes; cost follows what changed where one was copied from the other, or both from
   * a third. A file is one and the same in both if its number and the time it was made are: of two that were filled side by
   * side that may be said of what has nothing in common. Fails with `body_too_large` beyond 1,000,000 names.
   */
  changes(request: ChangesRequest): Promise<ChangesPage>
  /**
   * What each of these takes up, in the order of the names; null for one that is not there. Counted in the pool's own trees: the
   * cost is that of what they do not share with what they were copied from, and once that of their names.
   */
  measure(names: readonly string[]): Promise<(SubvolumeUsage | null)[]>
  /**
   * What a read-only subvolume holds, packed, as bytes that `receive` of another pool takes; with a parent, also read-only and of
   * the same origin, only what differs from it. The same each time. It rejects at its end if not all was told.
   */
  send(request: SendRequest): AsyncIterable<Uint8Array>
  /**
   * Makes the writable subvolume `name` of a chain of such streams, each with the one before as its parent, the first with none.
   * `container` is a subvolume made for what comes in meanwhile: the caller destroys it, and after a failure both.
   */
  receive(request: ReceiveRequest): Promise<void>
  /** What `work` gives, which writes to the pool; rejects with `internal` if the disk refused any write meanwhile. */
  withSoundWrites<T>(work: () => Promise<T>): Promise<T>
  capacity(): Promise<DiskCapacity>
  /**
   * Whether anything can be written.
   * @throws ServiceError `internal` while the pool is read-only, `storage_full` while the disk below has no blocks for it
   */
  checkWritable(): Promise<void>
  /** How the disk does, and what the last scrub found. */
  condition(): Promise<PoolCondition>
  /** Begins to read all that the pool holds, against its checksums, unless that is being done; it goes on by itself. */
  startScrub(clock: Pick<Clock, 'now'>): Promise<void>
  /** Unmounts; the pool and what it holds stay. */
  close(): Promise<void>
}

export interface SnapshotRequest {
  source: string
  name: string
  isReadOnly: boolean
  quotaBytes: number | null
}

export interface SendRequest {
  name: string
  parent: string | null
  signal?: AbortSignal | undefined
}

export interface ReceiveRequest {
  container: string
  name: string
  quotaBytes: number | null
  streams: AsyncIterable<AsyncIterable<Uint8Array>>
  signal?: AbortSignal | undefined
}

/** Bytes of data on the disk, compressed; less names, and what is so small that it is kept among them. */
export interface SubvolumeUsage {
  /** That it refers to, shared or not. */
  sizeBytes: number
  /** That nothing else refers to: what destroying it would free. */
  uniqueBytes: number
}
