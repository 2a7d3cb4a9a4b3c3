/**
 * Stores named objects of bytes for backups. A name has up to eight segments joined by `/`. Each segment has 1–128 characters of `A-Z a-z
 * 0-9 . _ -` and does not begin with a dot. Methods throw ServiceError `storage_full` if there is no room. Other failures are `internal`,
 * with a detail that does not reveal the location.
 */
export interface BackupStore {
  /** Value of `GET /v1/config`: `folder` or `s3`. */
  readonly kind: string
  /**
   * Stores `pieces` under `name`, replacing an existing object. When it resolves, the object is durable and the store was
   * verified to hold exactly these bytes. When it rejects, the name has its former content.
   */
  put(name: string, pieces: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<StoredBytes>
  /** Returns the bytes of an object, or null if there is none. The caller reads all, or ends the iteration. */
  get(name: string, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array> | null>
  /** Reads all of an object and returns its size and digest. Null if there is none. */
  digest(name: string, signal?: AbortSignal): Promise<StoredBytes | null>
  /** Lists the objects whose names begin with `prefix`, in no order. */
  list(prefix: string): AsyncIterable<StoredObject>
  /** Removes an object durably. Succeeds if it is absent. */
  delete(name: string): Promise<void>
  close(): Promise<void>
}

/** Size and digest of an object. `sha256` is hexadecimal. */
export interface StoredBytes {
  sizeBytes: number
  sha256: string
}

export interface StoredObject {
  name: string
  sizeBytes: number
}
