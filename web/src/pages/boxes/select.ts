import type { Box } from '../../api/records.ts'

/** Filters of the list of boxes, as in the address of the page. */
export interface BoxFilter {
  text: string
  project: string
  status: string
  node: string
  /** One of `SORTS`. A leading `-` reverses the order. */
  sort: string
}

export const SORTS = ['name', 'status', 'created', 'changed'] as const
/** Labels of the orders. */
export const SORT_NAMES: Readonly<Record<(typeof SORTS)[number], string>> = {
  name: 'Name',
  status: 'Status',
  created: 'Newest',
  changed: 'Last changed',
}

/** Returns the boxes that have all words of the text in their names, tags or bases, in order. */
export function selectBoxes(boxes: readonly Box[], { text, project, status, node, sort }: BoxFilter): Box[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = boxes.filter(
    (box) =>
      (project === '' || box.project === project) &&
      (status === '' || box.status === status) &&
      (node === '' || box.node === node) &&
      words.every((word) => wordsOf(box).includes(word)),
  )
  const by = sort.replace(/^-/, '')
  if (by === 'status') found.sort((a, b) => compare(a.status, b.status))
  if (by === 'created') found.sort((a, b) => compare(b.created_at, a.created_at))
  if (by === 'changed') found.sort((a, b) => compare(b.state.since, a.state.since))
  return sort.startsWith('-') ? found.reverse() : found
}

/** Returns the nodes that boxes are on, in order. Without a cluster there is one: the region. */
export function nodesOf(boxes: readonly Box[]): string[] {
  return [...new Set(boxes.map(({ node }) => node))].sort()
}

function wordsOf({ project, name, base, tags }: Box): string {
  const pairs = Object.entries(tags).map(([key, value]) => `${key}=${value}`)
  return `${project}/${name} ${base ?? ''} ${pairs.join(' ')}`.toLowerCase()
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
