import type { Tombstone } from './tombstones.ts'

/** A snapshot of a box's root or of a data volume: a read-only subvolume. Nothing of it changes. */
export interface SnapshotRecord {
  /** Also the name of its subvolume, unless that was the root or the data that a restore replaced. */
  id: string
  project: string
  /** The box or the volume it is of; gone with it. */
  owner: { kind: 'box' | 'volume'; id: string; name: string }
  /** Unique among those of its owner. */
  name: string
  comment: string | null
  createdAt: number
  subvolume: string
  /** Whether it was made by a restore, of what that replaced. */
  automatic: boolean
  /** The data volumes of the box at the same instant. */
  data: SnapshotData[]
  /** Bytes it refers to, once they were counted. */
  sizeBytes: number | null
  /** Who made it: a create repeated after a crash finds its own snapshot by the key. */
  createdBy: { token: string; idempotencyKey: string | null }
}

/** What a data volume held when the box was snapshotted. */
export interface SnapshotData {
  volumeId: string
  /** Of the volume. */
  name: string
  subvolume: string
  /** Where the box had it. */
  path: string
  readOnly: boolean
}

/** A snapshot that has no name yet gets `v` and a number: one above the highest that its owner ever had. */
export type NewSnapshot = Omit<SnapshotRecord, 'name'> & { name: string | null }

/** A page of the snapshots of a box or volume, oldest first; `after` is the last id of the page before. */
export interface SnapshotQuery {
  ownerId: string
  prefix: string
  after: string | null
  limit: number
}

export interface SnapshotStore {
  /** Records a snapshot and drops the tombstones of its subvolumes, in one commit; its name if it had none. */
  insert(snapshot: NewSnapshot): Promise<SnapshotRecord | 'name_taken' | 'owner_gone'>
  get(ownerId: string, name: string): Promise<SnapshotRecord | null>
  list(query: SnapshotQuery): Promise<{ records: SnapshotRecord[]; hasMore: boolean }>
  /** All of a box or volume, oldest first. */
  of(ownerId: string): Promise<SnapshotRecord[]>
  all(): Promise<SnapshotRecord[]>
  /** Notes how many bytes a snapshot refers to. */
  measure(id: string, sizeBytes: number): Promise<void>
  /** Removes the record and writes the tombstones, in one commit; false if it is gone. */
  remove(id: string, tombstones: readonly Tombstone[]): Promise<boolean>
}
