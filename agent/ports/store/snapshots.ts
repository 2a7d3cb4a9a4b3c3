import type { Tombstone } from './tombstones.ts'

/** A read-only subvolume with a snapshot of a box's root or of a data volume. Immutable, except for `sizeBytes`. */
export interface SnapshotRecord {
  /** Also the name of its subvolume, unless that was a root or volume that a restore replaced. */
  id: string
  project: string
  /** Its box or volume, with which it is removed. */
  owner: { kind: 'box' | 'volume'; id: string; name: string }
  /** Unique among its owner's snapshots. */
  name: string
  comment: string | null
  createdAt: number
  subvolume: string
  /** True if a restore made it, of the state that the restore replaced. */
  automatic: boolean
  /** Data volumes of the box, taken at the same instant. */
  data: SnapshotData[]
  /** Bytes it refers to. Null until they are measured. */
  sizeBytes: number | null
  /** The creator: a create repeated after a crash finds its own snapshot by the key. */
  createdBy: { token: string; idempotencyKey: string | null }
}

/** The data of a volume when its box was snapshotted. */
export interface SnapshotData {
  volumeId: string
  /** Name of the volume. */
  name: string
  subvolume: string
  /** Where it was mounted. */
  path: string
  readOnly: boolean
}

/** A snapshot to record. Without a name it gets `v` and a number, one above the highest that its owner ever had. */
export type NewSnapshot = Omit<SnapshotRecord, 'name'> & { name: string | null }

/** A page of the snapshots of a box or volume, oldest first. `after` is the last id of the previous page. */
export interface SnapshotQuery {
  ownerId: string
  prefix: string
  after: string | null
  limit: number
}

export interface SnapshotStore {
  /** Records a snapshot, with a name if it has none, and drops the tombstones of its subvolumes, in one commit. */
  insert(snapshot: NewSnapshot): Promise<SnapshotRecord | 'name_taken' | 'owner_gone'>
  get(ownerId: string, name: string): Promise<SnapshotRecord | null>
  list(query: SnapshotQuery): Promise<{ records: SnapshotRecord[]; hasMore: boolean }>
  /** Lists the snapshots of a box or volume, oldest first. */
  of(ownerId: string): Promise<SnapshotRecord[]>
  /** Counts the snapshots of a box or volume. */
  count(ownerId: string): Promise<number>
  /** Lists those that requests with an Idempotency-Key made, of any token. */
  withKey(ownerId: string, idempotencyKey: string): Promise<SnapshotRecord[]>
  all(): Promise<SnapshotRecord[]>
  /** Records how many bytes a snapshot refers to. */
  measure(id: string, sizeBytes: number): Promise<void>
  /** Removes the record and writes the tombstones, in one commit. False if it is gone. */
  remove(id: string, tombstones: readonly Tombstone[]): Promise<boolean>
}
