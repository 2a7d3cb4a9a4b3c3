import { structuredPatch } from 'diff'

/** A line of the comparison of two texts. */
export type TextDiffRow =
  | { kind: 'same' | 'added' | 'deleted'; before: number | null; after: number | null; text: string }
  /** Omits lines that are the same in both. */
  | { kind: 'gap'; count: number }
  | { kind: 'note'; text: string }

/** Differences between two texts, with three lines around each. */
export interface ComparedTexts {
  rows: TextDiffRow[]
  added: number
  deleted: number
}

/** Compares two texts line by line. Returns null if so much differs that it would take more than two seconds. */
export function compareTexts(before: string, after: string): ComparedTexts | null {
  const patch = structuredPatch('', '', before, after, '', '', { context: CONTEXT_LINES, timeout: PATIENCE_MS })
  if (!patch) return null
  const rows: TextDiffRow[] = []
  const counts = { added: 0, deleted: 0 }
  let end = 1
  for (const { oldStart, newStart, lines } of patch.hunks) {
    let [old, fresh] = [oldStart, newStart]
    // A part without lines begins after the line before it.
    if (old > end) rows.push({ kind: 'gap', count: old - end })
    for (const line of lines) {
      const text = line.slice(1).replaceAll('\r', '␍')
      if (line.startsWith('\\')) rows.push({ kind: 'note', text: 'no newline at end of file' })
      else if (line.startsWith('+')) rows.push({ kind: 'added', before: null, after: fresh++, text })
      else if (line.startsWith('-')) rows.push({ kind: 'deleted', before: old++, after: null, text })
      else rows.push({ kind: 'same', before: old++, after: fresh++, text })
      if (line.startsWith('+')) counts.added++
      if (line.startsWith('-')) counts.deleted++
    }
    end = old
  }
  const left = lineCountOf(before) - (end - 1)
  if (rows.length > 0 && left > 0) rows.push({ kind: 'gap', count: left })
  return { rows, ...counts }
}

function lineCountOf(text: string): number {
  if (text === '') return 0
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

const CONTEXT_LINES = 3
const PATIENCE_MS = 2_000
