/**
 * A subvolume that is to be destroyed: of a deleted box or volume, written in the commit that deletes its record; or of one that
 * has no record yet, dropped in the commit that writes it.
 */
export interface Tombstone {
  id: string
  /** The subvolume to destroy. */
  root: string
  createdAt: number
}

/** The tombstones of subvolumes that are not destroyed yet. */
export interface TombstoneStore {
  insert(tombstone: Tombstone): Promise<void>
  all(): Promise<Tombstone[]>
  remove(id: string): Promise<void>
}
