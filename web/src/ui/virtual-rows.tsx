import type { ReactNode } from 'react'
import { useRowsInSight } from './rows-in-sight.ts'

interface VirtualRowsProps<T> {
  label: string
  items: readonly T[]
  /** Approximate height of a row. */
  rowPx: number
  keyOf(item: T): string
  children(item: T): ReactNode
}

/** A list of any length. The page only holds the rows in sight. */
export function VirtualRows<T>({ label, items, rowPx, keyOf, children }: VirtualRowsProps<T>) {
  const { frame, heightPx, rows, measure } = useRowsInSight({ items, keyOf, rowPx })
  return (
    <div className="rounded-lg border border-line bg-panel">
      <div ref={frame} role="list" aria-label={label} className="relative" style={{ height: heightPx }}>
        {rows.map(({ item, index, key, offsetPx }) => (
          <div
            key={key}
            ref={measure}
            data-index={index}
            role="listitem"
            aria-setsize={items.length}
            aria-posinset={index + 1}
            className="absolute inset-x-0 top-0 border-b border-line last:border-0 hover:bg-raised/50"
            style={{ transform: `translateY(${offsetPx}px)` }}
          >
            {children(item)}
          </div>
        ))}
      </div>
    </div>
  )
}
