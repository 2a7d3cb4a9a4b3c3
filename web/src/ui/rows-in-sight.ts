import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

interface RowsOptions<Item> {
  items: readonly Item[]
  keyOf(item: Item): string
  /** Approximate height of a row. */
  rowPx: number
}

/** A row in sight, and its offset from the top of its frame. */
interface RowInSight<Item> {
  item: Item
  index: number
  key: string | number | bigint
  offsetPx: number
}

interface RowsInSight<Item> {
  /** The element that holds the rows, as high as all of them. */
  frame: RefObject<HTMLDivElement | null>
  heightPx: number
  rows: readonly RowInSight<Item>[]
  /** The ref of each row, whose `data-index` is its index. Measures its height. */
  measure(row: Element | null): void
}

/** Returns the rows of a list of any length that are in sight while the page scrolls. */
export function useRowsInSight<Item>({ items, keyOf, rowPx }: RowsOptions<Item>): RowsInSight<Item> {
  const frame = useRef<HTMLDivElement>(null)
  const top = useTop(frame)
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => rowPx,
    overscan: 12,
    scrollMargin: top,
    getItemKey: (index) => {
      const item = items[index]
      return item === undefined ? index : keyOf(item)
    },
  })
  const rows = virtual.getVirtualItems().flatMap(({ index, key, start }) => {
    const item = items[index]
    return item === undefined ? [] : [{ item, index, key, offsetPx: start - top }]
  })
  return { frame, heightPx: virtual.getTotalSize(), rows, measure: virtual.measureElement }
}

/** Returns where an element begins in the page, even if the content above it changes. */
function useTop(element: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    const measure = (): void => setTop((element.current?.getBoundingClientRect().top ?? 0) + window.scrollY)
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    measure()
    return () => observer.disconnect()
  }, [element])
  return top
}
