import type { DiffChange } from '../../../api/records.ts'

type ChangeKind = DiffChange['kind']

/** The word and sign of each kind of change, so that colour is not needed. */
export const CHANGE_KINDS: readonly { kind: ChangeKind; sign: string; word: string }[] = [
  { kind: 'added', sign: '+', word: 'added' },
  { kind: 'modified', sign: '~', word: 'modified' },
  { kind: 'deleted', sign: '−', word: 'deleted' },
  { kind: 'renamed', sign: '→', word: 'renamed' },
]

/** Returns the number of changes of each kind. */
export function countChanges(changes: readonly DiffChange[]): Record<ChangeKind, number> {
  const counts = { added: 0, modified: 0, deleted: 0, renamed: 0 }
  for (const { kind } of changes) counts[kind]++
  return counts
}

/** Returns the changes of a kind, or of all kinds, whose paths contain the text. */
export function selectChanges(changes: readonly DiffChange[], filter: { kind: string; text: string }): DiffChange[] {
  const text = filter.text.toLowerCase()
  return changes.filter(
    ({ kind, path, from }) =>
      (filter.kind === '' || kind === filter.kind) &&
      (path.toLowerCase().includes(text) || (from ?? '').toLowerCase().includes(text)),
  )
}

/** Returns the words of a change, such as `renamed and modified`. */
export function changeWords({ kind, modified }: DiffChange): string {
  return kind === 'renamed' && modified ? 'renamed and modified' : kind
}
