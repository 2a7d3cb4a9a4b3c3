import type { OtherHistories } from '../../ports/store/cell-history.ts'

/** Returns the histories of other cells for a host without a fleet, which has none. */
export function noOtherHistories(): OtherHistories {
  return { cells: () => [], onCommit: () => () => undefined }
}
