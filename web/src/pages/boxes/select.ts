import type { Box } from '../../api/records.ts'

/** What a list of boxes shows, as in the address of the page. */
export interface BoxFilter {
  text: string
  project: string
  status: string
  sort: string
}

export const SORTS = ['name', 'status', 'created', 'changed'] as const

/** Returns the boxes that have all words of the text in their names, tags or bases, in order. */
export function selectBoxes(boxes: readonly Box[], { text, project, status, sort }: BoxFilter): Box[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = boxes.filter(
    (box) =>
      (project === '' || box.project === project) &&
      (status === '' || box.status === status) &&
      words.every((word) => wordsOf(box).includes(word)),
  )
  if (sort === 'status') found.sort((a, b) => compare(a.status, b.status))
  if (sort === 'created') found.sort((a, b) => compare(b.created_at, a.created_at))
  if (sort === 'changed') found.sort((a, b) => compare(b.state.since, a.state.since))
  return found
}

function wordsOf({ project, name, base, tags }: Box): string {
  const pairs = Object.entries(tags).map(([key, value]) => `${key}=${value}`)
  return `${project}/${name} ${base ?? ''} ${pairs.join(' ')}`.toLowerCase()
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
