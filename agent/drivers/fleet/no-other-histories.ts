import type { OtherHistories } from '../../ports/store/cell-history.ts'

/** Returns the histories of other cells of a host without a fleet: there are none. */
export function noOtherHistories(): OtherHistories {
  return { cells: () => [], onCommit: () => () => undefined }
}
