import type { Tombstone } from './tombstones.ts'

/** What boxes are made from: a read-only subvolume. Nothing of it changes. Times in ms since the epoch. */
export interface BaseRecord {
  id: string
  /** Null: one that all projects share. */
  project: string | null
  name: string
  /** One above the last of that name there: never given again. */
  version: number
  /** Bytes it refers to, once they were counted. */
  sizeBytes: number | null
  subvolume: string
  createdAt: number
  /** `host`, `box:<name>`, `box:<name>@<snapshot>`, `tar`, `oci` or `oci:<reference>`. */
  source: string
  /** Who made it: a create repeated after a crash finds its own base by the key; null: this host. */
  createdBy: { token: string; idempotencyKey: string | null } | null
}

/** A finished base, which gets its version when it is recorded. */
export type NewBase = Omit<BaseRecord, 'version'>

/** A page of bases ordered by project and name; `projects` null is of those that all share. */
export interface BaseQuery {
  projects: readonly string[] | '*' | null
  prefix: string
  /** The last key of the page before. */
  after: { project: string; name: string } | null
  limit: number
}

/** Boxes by project and name, the first of them, and how many there are. */
export interface BaseUse {
  boxes: { project: string; name: string }[]
  count: number
}

export interface BaseStore {
  /** Records a base and drops the tombstone of its subvolume, in one commit; null if there is one of that name. */
  insert(base: NewBase): Promise<BaseRecord | null>
  /** The base of a project; of null one that all share. */
  get(project: string | null, name: string): Promise<BaseRecord | null>
  list(query: BaseQuery): Promise<{ records: BaseRecord[]; hasMore: boolean }>
  all(): Promise<BaseRecord[]>
  /** How many a project has; of null those that all share. */
  count(project: string | null): Promise<number>
  /** Notes how many bytes a base refers to. */
  measure(id: string, sizeBytes: number): Promise<void>
  /** Removes the record and writes the tombstone, in one commit; false if it is gone. */
  remove(id: string, tombstone: Tombstone): Promise<boolean>
  /** The boxes of `projects` that were made from it, and their forks. */
  usedBy(id: string, query: { projects: readonly string[] | '*'; limit: number }): Promise<BaseUse>
}
