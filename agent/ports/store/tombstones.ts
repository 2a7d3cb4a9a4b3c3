/**
 * A promise to destroy what is left of a deleted box or volume, written in the commit that deletes its record; or what
 * was begun of one that has no record yet, dropped in the commit that writes it.
 */
export interface Tombstone {
  id: string
  /** The subvolume to destroy. */
  root: string
  createdAt: number
}

/** The promises that are not kept yet. */
export interface TombstoneStore {
  insert(tombstone: Tombstone): Promise<void>
  all(): Promise<Tombstone[]>
  remove(id: string): Promise<void>
}
