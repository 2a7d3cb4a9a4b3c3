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
 * A subvolume that is to be destroyed: of a deleted box, volume or base, written in the commit that deletes its record; or of one that
 * has no record yet, dropped in the commit that writes it.
 */
export interface Tombstone {
  id: string
  /** The subvolume to destroy. */
  root: string
  /** The name to give up before the tombstone goes; absent: what has none of its own. */
  home?: NamedHome | NamedBase
  createdAt: number
}

/** The tombstones of subvolumes that are not destroyed yet. */
export interface TombstoneStore {
  insert(tombstone: Tombstone): Promise<void>
  all(): Promise<Tombstone[]>
  remove(id: string): Promise<void>
}
