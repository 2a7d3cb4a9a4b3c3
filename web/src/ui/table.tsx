import { type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from 'react'

/** A table whose head names its columns and stays in sight. Scrolls sideways on a narrow screen, with its head. */
export function Table({ label, head, children }: { label: string; head: readonly string[]; children: ReactNode }) {
  const frame = useRef<HTMLDivElement>(null)
  const isWide = useIsWide(frame)
  return (
    <div
      ref={frame}
      tabIndex={0}
      role="region"
      aria-label={label}
      // The head sticks to the nearest scrolling element.
      className={`rounded-lg border border-line bg-panel ${isWide ? 'overflow-x-auto' : 'overflow-x-clip'}`}
    >
      <table className="w-full text-left">
        <thead className="sticky top-0 z-10 border-b border-line bg-panel text-xs text-muted">
          <tr>
            {head.map((name) => (
              <th key={name} scope="col" className="px-3 py-2 font-medium whitespace-nowrap">
                <ColumnName name={name} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

/** The name of a column in its head. A column without one holds actions. */
export function ColumnName({ name }: { name: string }) {
  return name === '' ? <span className="sr-only">Actions</span> : name
}

/** A row of a table. */
export function Row({ children }: { children: ReactNode }) {
  return <tr className="border-b border-line last:border-0 hover:bg-raised/50">{children}</tr>
}

/** A cell of a row. */
export function Cell({ children, isNumber = false }: { children?: ReactNode; isNumber?: boolean }) {
  return <td className={`px-3 py-2 align-top ${isNumber ? 'text-right tabular-nums' : ''}`}>{children}</td>
}

/** Returns whether the content of a frame is wider than the frame. */
function useIsWide(frame: RefObject<HTMLDivElement | null>): boolean {
  const [isWide, setWide] = useState(true)
  useLayoutEffect(() => {
    const { current } = frame
    const content = current?.firstElementChild
    if (!current || !content) return undefined
    const measure = (): void => setWide(content.scrollWidth > current.clientWidth)
    const observer = new ResizeObserver(measure)
    for (const each of [current, content]) observer.observe(each)
    measure()
    return () => observer.disconnect()
  }, [frame])
  return isWide
}
