/**
 * Where backups are kept: named objects of bytes. Names are up to eight segments joined by `/`, each of 1–128 of
 * `A-Z a-z 0-9 . _ -` that does not begin with a point. Methods throw ServiceError: `storage_full` where there is no room,
 * else `internal`, whose detail tells nothing of the place.
 */
export interface BackupStore {
  /** As `GET /v1/config` tells it: `folder` or `s3`. */
  readonly kind: string
  /**
   * Stores all of `pieces` under `name`, in place of what had it. When it resolves that is durable, and the store has been
   * seen to hold just these bytes, whose digest it gives; when it rejects the name has what it had before.
   */
  put(name: string, pieces: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<StoredBytes>
  /** The bytes of an object from its first, or null if there is none. Whoever takes them takes all, or ends the iteration. */
  get(name: string, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array> | null>
  /** Size and digest of an object, all of which is read for it; null if there is none. */
  digest(name: string, signal?: AbortSignal): Promise<StoredBytes | null>
  /** All objects whose names begin with `prefix`, in no order. */
  list(prefix: string): AsyncIterable<StoredObject>
  /** Removes an object, durably; an absent one is a success. */
  delete(name: string): Promise<void>
  close(): Promise<void>
}

/** What is stored: `sha256` in hexadecimal digits. */
export interface StoredBytes {
  sizeBytes: number
  sha256: string
}

export interface StoredObject {
  name: string
  sizeBytes: number
}
