import type { BaseName } from '../fleet/bases.ts'
import type { HomeName } from '../fleet/directory.ts'

/** A name with the id of the box or volume that has it. */
export interface NamedHome extends HomeName {
  uid: string
}

/** The name of a base with the id of the one that has it. */
export interface NamedBase extends BaseName {
  kind: 'base'
  uid: string
}

/**
 * A subvolume to destroy. One of a deleted box, volume or base is written in the commit that deletes its record. One without a record yet
 * is dropped in the commit that writes the record.
 */
export interface Tombstone {
  id: string
  /** The subvolume to destroy. */
  root: string
  /** The name to give up before the tombstone goes. Absent: it has no name of its own. */
  home?: NamedHome | NamedBase
  createdAt: number
}

/** The tombstones of subvolumes that are not destroyed yet. */
export interface TombstoneStore {
  insert(tombstone: Tombstone): Promise<void>
  all(): Promise<Tombstone[]>
  remove(id: string): Promise<void>
}
