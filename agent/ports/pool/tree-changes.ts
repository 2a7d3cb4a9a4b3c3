import type { FileKind, FilePath } from '../files/files.ts'

/** How a path differs. A renamed one may be modified too. */
export type ChangeKind = 'added' | 'modified' | 'deleted' | 'renamed'

/**
 * One difference between an earlier and a later tree. What is below a renamed directory moved with it and is only told if it
 * differs otherwise; what is below one that was added or deleted is told. Of a file with several names that was modified all are
 * told that 4 KB hold; where one of them was renamed that may be told as deleted and added.
 */
export interface TreeChange {
  kind: ChangeKind
  /** Absolute, where it is in the later tree; of what was deleted, where it was in the earlier one. */
  path: FilePath
  /** Of what was renamed, where it was in the earlier tree; else null. */
  from: FilePath | null
  /** Of what was renamed: whether it is otherwise as it was. */
  isModified: boolean
  /** Of the later state; of what was deleted, of the earlier one. */
  type: FileKind
  sizeBytes: number
}

/** Where a page of changes goes on: after this one. */
export interface ChangeCursor {
  path: FilePath
  kind: ChangeKind
}

export interface ChangesRequest {
  /** Two read-only subvolumes. */
  from: string
  to: string
  after: ChangeCursor | null
  limit: number
  /** In whose name: of those of one name, one comparison is made at a time, so that others get their turn. */
  share: string
  /** Whether more is likely to be asked of these two, so that what was found is kept for a while. */
  keep: boolean
  /** Ends the search: whoever asked has gone. */
  signal?: AbortSignal
}

export interface ChangesPage {
  /** By the bytes of the path, then deleted before the others. */
  changes: TreeChange[]
  hasMore: boolean
}
