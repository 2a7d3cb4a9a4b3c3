import type { ReactNode } from 'react'

/** A table whose head names its columns; scrolls sideways on a narrow screen. */
export function Table({ label, head, children }: { label: string; head: readonly string[]; children: ReactNode }) {
  return (
    <div
      tabIndex={0}
      role="region"
      aria-label={label}
      className="overflow-x-auto rounded-lg border border-line bg-panel"
    >
      <table className="w-full text-left">
        <thead className="border-b border-line text-xs text-muted">
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

/** The name of a column in its head; one without holds actions. */
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
