import type { Clock } from '../host/clock.ts'
import type { DiskCapacity } from '../host/facts.ts'
import type { PoolCondition } from './condition.ts'
import type { ChangesPage, ChangesRequest } from './tree-changes.ts'

/**
 * A pool of named copy-on-write trees ("subvolumes"). Names match `[a-z0-9_]{1,64}` and are final (never renamed). The core chooses them:
 * `sub_<id>` for a box root, `bas_…` for a base. The effect of a method is durable when it resolves. A method that copies fails
 * (`internal`) if the disk refused a write while it ran.
 */
export interface CowFilesystem {
  /** As in `GET /v1/config`: `btrfs`. */
  readonly kind: string
  /** Random id created with the pool and stored in it. A database that records another id must not be used with it. */
  readonly poolId: string
  /** Returns the host path of a subvolume, which need not exist. */
  path(name: string): string
  exists(name: string): Promise<boolean>
  /** Lists the subvolumes at the top of the pool. */
  list(): Promise<string[]>
  /** Creates an empty writable subvolume of `project`. Null: of the deployment (see `StorageAccounts`). Fails with `storage_full`. */
  create(name: string, project: string | null): Promise<void>
  /**
   * Snapshots `source` to `name`, un-fsynced data included. The cost does not depend on the size. `quotaBytes` limits later writes to the
   * copy. Null is unlimited. Fails if `name` exists.
   */
  snapshot(request: SnapshotRequest): Promise<void>
  /** Sets or clears the read-only flag. Setting it also makes all earlier writes to the subvolume durable. */
  setReadOnly(name: string, isReadOnly: boolean): Promise<void>
  setQuota(name: string, quotaBytes: number | null): Promise<void>
  /**
   * Destroys a subvolume and the subvolumes nested in it. Succeeds if it is absent. The caller has verified that nothing uses it, so that
   * its cgroup is empty and its mounts are gone. Never follows a link out of the subvolume. Throws as `checkWritable`.
   */
  destroy(name: string): Promise<void>
  /** Returns a value that all direct and indirect copies of one created or received subvolume share. Null if `name` is absent. */
  origin(name: string): Promise<string | null>
  /** Makes what was written so far count in `usedBytes`, and durable where it was synced. */
  commit(): Promise<void>
  /**
   * Returns the bytes that its quota limits, as of the last commit. These are the compressed bytes written to the subvolume since it was
   * created.
   */
  usedBytes(name: string): Promise<number>
  /**
   * Returns the differences of two read-only subvolumes. The cost is proportional to the changes if one is a copy of the other, or both
   * are copies of a third. Files are matched by inode number and generation, so unrelated files of subvolumes that were filled side by
   * side may match. Fails with `body_too_large` above 1,000,000 names.
   */
  changes(request: ChangesRequest): Promise<ChangesPage>
  /**
   * Returns the usage of each, in the order of the names. Null for an absent one. Reads the pool's trees. The cost is proportional to the
   * metadata that each does not share with its source. The first time, or if it is writable, it is proportional to all its metadata. One
   * measurement runs at a time, and one per `share`, such as a project, waits. A request for the names of a waiting measurement gets its
   * result.
   */
  measure(names: readonly string[], share: string): Promise<(SubvolumeUsage | null)[]>
  /**
   * Streams a read-only subvolume, compressed, for `receive` of another pool. With a parent, also read-only and of the same
   * origin, only the difference. The bytes are the same each time. Rejects at its end if the stream is incomplete.
   */
  send(request: SendRequest): AsyncIterable<Uint8Array>
  /**
   * Creates the writable subvolume `name` from a chain of such streams, each with the one before as its parent, the first with none.
   * Receives into the subvolume `container`, which it creates. The caller destroys that, and after a failure both.
   */
  receive(request: ReceiveRequest): Promise<void>
  /** Runs `work`, whose writes reach the disk before it ends. Rejects with `internal` if the disk refused a write while it ran. */
  withSoundWrites<T>(work: () => Promise<T>): Promise<T>
  capacity(): Promise<DiskCapacity>
  /**
   * Checks that the pool can be written to.
   * @throws ServiceError `internal` while the pool is read-only, `storage_full` while the disk below has no blocks for it
   */
  checkWritable(): Promise<void>
  /** Returns the health of the pool, and its running or last scrub. */
  condition(): Promise<PoolCondition>
  /** Starts a scrub in the background, unless one is running. @throws ServiceError `storage_full` if its start cannot be noted */
  startScrub(clock: Pick<Clock, 'now'>): Promise<void>
  /** Unmounts the pool. Its data stays. */
  close(): Promise<void>
}

export interface SnapshotRequest {
  source: string
  /**
   * Its owner (null: the deployment), and the key of the fair queue. One subvolume is created at a time, and waiting projects take turns.
   */
  project: string | null
  name: string
  isReadOnly: boolean
  quotaBytes: number | null
}

/** A difference longer than its limit. Many kernels send a punched hole as zeros, however long it is. */
export class SendTooLongError extends Error {}

export interface SendRequest {
  name: string
  parent: string | null
  /** Most bytes of the stream, before compression. Beyond them it throws SendTooLongError. Default: any. */
  maxBytes?: number
  signal?: AbortSignal | undefined
}

export interface ReceiveRequest {
  container: string
  name: string
  /** To whom both belong. Null: the deployment. */
  project: string | null
  quotaBytes: number | null
  streams: AsyncIterable<AsyncIterable<Uint8Array>>
  signal?: AbortSignal | undefined
}

/** Bytes of data extents on the disk, compressed. Excludes metadata and the small files inlined in it. */
export interface SubvolumeUsage {
  /** Size of the extents it refers to, shared or not. */
  sizeBytes: number
  /** Size of the extents that only it refers to, which destroying it would free. */
  uniqueBytes: number
}
