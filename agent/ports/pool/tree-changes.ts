import type { FileKind, FilePath } from '../files/files.ts'

/** Kind of a difference. A renamed path may be modified too. */
export type ChangeKind = 'added' | 'modified' | 'deleted' | 'renamed'

/**
 * One difference between an earlier and a later tree. Entries below a renamed directory are listed only if they differ otherwise. Entries
 * below an added or deleted directory are all listed. A modified file with several hard links is listed by all of them that fit in 4 KB.
 * A rename of one of them may be listed as deleted and added.
 */
export interface TreeChange {
  kind: ChangeKind
  /** Absolute path in the later tree, or in the earlier one if deleted. */
  path: FilePath
  /** If renamed, its path in the earlier tree, else null. */
  from: FilePath | null
  /** If renamed: true if it was also modified. */
  isModified: boolean
  /** Type in the later tree, or in the earlier one if deleted. */
  type: FileKind
  sizeBytes: number
}

/** The last change of the previous page. */
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
  /** Fairness key, such as a project. Comparisons with the same key run one at a time. */
  share: string
  /** Caches the result for later requests about the same two. */
  keep: boolean
  /** Cancels the comparison when the client is gone. */
  signal?: AbortSignal
}

export interface ChangesPage {
  /** Ordered by the bytes of the path, then deleted before the others. */
  changes: TreeChange[]
  hasMore: boolean
}
