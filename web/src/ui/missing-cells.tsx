import { missingCellsText } from './words.ts'

/** Says which cells of a fleet did not answer, or nothing while all do. */
export function MissingCells({ cells }: { cells: readonly string[] }) {
  if (cells.length === 0) return null
  return (
    <p role="status" className="rounded-md bg-warn-soft p-3">
      {missingCellsText(cells)}
    </p>
  )
}
