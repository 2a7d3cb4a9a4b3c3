import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'

interface VirtualRowsProps<T> {
  label: string
  items: readonly T[]
  /** About how high a row is. */
  rowPx: number
  keyOf(item: T): string
  children(item: T): ReactNode
}

/** A list of any length, of which only the rows in sight are in the page. */
export function VirtualRows<T>({ label, items, rowPx, keyOf, children }: VirtualRowsProps<T>) {
  const frame = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  // What is above it may have grown.
  useLayoutEffect(() => setTop(frame.current?.offsetTop ?? 0))
  const rows = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => rowPx,
    overscan: 10,
    scrollMargin: top,
    getItemKey: (index) => {
      const item = items[index]
      return item === undefined ? index : keyOf(item)
    },
  })
  return (
    <div className="rounded-lg border border-line bg-panel">
      <div ref={frame} role="list" aria-label={label} style={{ height: rows.getTotalSize(), position: 'relative' }}>
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const item = items[index]
          if (item === undefined) return null
          return (
            <div
              key={key}
              ref={rows.measureElement}
              data-index={index}
              role="listitem"
              aria-setsize={items.length}
              aria-posinset={index + 1}
              className="absolute inset-x-0 top-0 border-b border-line last:border-0 hover:bg-raised/50"
              style={{ transform: `translateY(${start - top}px)` }}
            >
              {children(item)}
            </div>
          )
        })}
      </div>
    </div>
  )
}
