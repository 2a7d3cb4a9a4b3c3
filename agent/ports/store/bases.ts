import type { Tombstone } from './tombstones.ts'

/** A read-only subvolume that boxes are created from. Immutable, except for `sizeBytes`. Times in ms since the epoch. */
export interface BaseRecord {
  id: string
  /** Null: shared by all projects. */
  project: string | null
  name: string
  /** One above the last version of that name in the project. Never reused. */
  version: number
  /** Bytes it refers to. Null until they are measured. */
  sizeBytes: number | null
  subvolume: string
  createdAt: number
  /** `host`, `box:<name>`, `box:<name>@<snapshot>`, `tar`, `oci` or `oci:<reference>`. */
  source: string
  /** The creator: a create repeated after a crash finds its own base by the key. Null: this host. */
  createdBy: { token: string; idempotencyKey: string | null } | null
  /** Number of the cell that made the original of this copy. Absent: it was made here. */
  cell?: string
}

/** A complete base. The store assigns its version, at least the given one, or of a copy just that. */
export type NewBase = Omit<BaseRecord, 'version'> & { version?: number }

/** A page of bases, without copies, ordered by project and name. `projects` null selects the shared ones. */
export interface BaseQuery {
  projects: readonly string[] | '*' | null
  prefix: string
  /** The last key of the previous page. */
  after: { project: string; name: string } | null
  limit: number
}

/** The boxes that use a base. Has the first few by project and name, and the total. */
export interface BaseUse {
  boxes: { project: string; name: string }[]
  count: number
}

export interface BaseStore {
  /** Records a base and drops the tombstone of its subvolume, in one commit. Null if the name is taken. */
  insert(base: NewBase): Promise<BaseRecord | null>
  /** Returns a base of a project, or for null a shared one. */
  get(project: string | null, name: string): Promise<BaseRecord | null>
  list(query: BaseQuery): Promise<{ records: BaseRecord[]; hasMore: boolean }>
  all(): Promise<BaseRecord[]>
  /** Returns the version that the next base of a name gets. */
  nextVersion(project: string | null, name: string): Promise<number>
  /** Counts the bases of a project, or for null the shared ones, without copies. */
  count(project: string | null): Promise<number>
  /** Records how many bytes a base refers to. */
  measure(id: string, sizeBytes: number): Promise<void>
  /** Removes the record and writes the tombstone, in one commit. False if it is gone. */
  remove(id: string, tombstone: Tombstone): Promise<boolean>
  /** Returns the boxes of `projects` that were created from it, forks of those included. */
  usedBy(id: string, query: { projects: readonly string[] | '*'; limit: number }): Promise<BaseUse>
}
