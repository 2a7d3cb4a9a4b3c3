import { encodeCursor } from '../core/common/paging.ts'
import type { PageEnd } from './page-items.ts'

/** An item of a page, as JSON, with the key that the list is ordered by. */
export interface KeyedItem {
  key: readonly string[]
  json: Buffer
}

/** The page of one cell, whose items come in the order of their keys. */
export type PageItems = AsyncGenerator<KeyedItem, PageEnd>

export interface MergeOptions {
  /** Most items of the merged page. */
  limit: number
  /** Index of the page whose item is shown, of the pages that have an item with this key. */
  choose(key: readonly string[], pages: readonly number[]): number
  /** Makes one item of all items with one key, instead of choosing one. */
  join?(items: readonly Buffer[]): Buffer
  /** Waits for a turn of the event loop, after some milliseconds of work. */
  turn(): Promise<void>
}

/**
 * Merges pages that begin after the same key into one, ordered by key, each key once. It holds one item of each page beside those it has
 * merged, and reads no further than it needs. It ends at 2 MiB, and also at the end of a page that is not the last of its cell, since the
 * next items there are unknown.
 */
export async function mergePages(
  pages: readonly PageItems[],
  { limit, choose, join, turn }: MergeOptions,
): Promise<{ items: Buffer[]; next: string | null }> {
  const items: Buffer[] = []
  let bytes = 0
  let last: readonly string[] | null = null
  let workedSince = performance.now()
  try {
    const heads = await Promise.all(pages.map((page) => page.next()))
    for (;;) {
      const cut = heads.find((head) => head.done === true && head.value.has_more)
      if (cut !== undefined)
        return { items, next: last === null ? (cut.value as PageEnd).next_continuation_token : encodeCursor(last) }
      const first = lowestOf(heads)
      if (first.length === 0) return { items, next: null }
      const { key } = heads[first[0] as number]?.value as KeyedItem
      if (items.length >= limit || bytes >= BYTES_MAX) return { items, next: last === null ? null : encodeCursor(last) }
      const jsonAt = (index: number): Buffer => (heads[index]?.value as KeyedItem).json
      const json =
        first.length > 1 && join !== undefined
          ? join(first.map(jsonAt))
          : jsonAt(first.length === 1 ? (first[0] as number) : choose(key, first))
      items.push(json)
      bytes += json.length
      last = key
      for (const index of first) heads[index] = await (pages[index] as PageItems).next()
      if (performance.now() - workedSince < WORK_MS) continue
      await turn()
      workedSince = performance.now()
    }
  } finally {
    // A page that waits for its cell ends once that is cut off.
    for (const page of pages) void page.return(ENDED).catch(() => undefined)
  }
}

type Head = IteratorResult<KeyedItem, PageEnd>

/** Returns the indices of the heads with the lowest key. */
function lowestOf(heads: readonly Head[]): number[] {
  let lowest: readonly string[] | null = null
  let found: number[] = []
  for (const [index, head] of heads.entries()) {
    if (head.done === true) continue
    const order = lowest === null ? -1 : compareKeys(head.value.key, lowest)
    if (order > 0) continue
    found = order < 0 ? [index] : [...found, index]
    lowest = head.value.key
  }
  return found
}

/** Compares keys as the lists of a cell order them. */
export function compareKeys(one: readonly string[], other: readonly string[]): number {
  for (const [index, part] of one.entries()) {
    const against = other[index] ?? ''
    if (part !== against) return part < against ? -1 : 1
  }
  return 0
}

const ENDED: PageEnd = { has_more: false, next_continuation_token: null }
/** Bytes of a merged page. The last item of it may be longer. */
const BYTES_MAX = 2 * 1024 * 1024
/** Milliseconds of work between two turns. */
const WORK_MS = 2
