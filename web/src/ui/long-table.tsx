import { ArrowDown, ArrowUp } from 'lucide-react'
import { memo, type ReactNode } from 'react'
import { useRowsInSight } from './rows-in-sight.ts'
import { ColumnName } from './table.tsx'

/** A column of a long table. */
export interface Column<Item> {
  name: string
  /** Content of its head, if that is not its name. */
  head?: ReactNode
  of(item: Item): ReactNode
  /** Whether it is a number. */
  isNumber?: boolean
  /** The page width from which it is shown. Default: any. */
  from?: 'md' | 'lg'
  /** The sort order that pressing its head selects. Absent if it does not sort. */
  sort?: string
}

interface LongTableProps<Item> {
  label: string
  /** The classes that set the column widths, at each width of the page. */
  grid: string
  columns: readonly Column<Item>[]
  items: readonly Item[]
  keyOf(item: Item): string
  /** The current sort order, and the action of pressing a head. */
  sorting?: { by: string; change(by: string): void }
}

/** Classes of a link that a click anywhere in its row follows. Other things to click or hover there need `ABOVE_ROW_LINK`. */
export const ROW_LINK = "after:absolute after:inset-0 after:content-['']"
export const ABOVE_ROW_LINK = 'relative z-1'

/** A table of any length. The page only holds the rows in sight. */
export function LongTable<Item>({ label, grid, columns, items, keyOf, sorting }: LongTableProps<Item>) {
  const { frame, heightPx, rows, measure } = useRowsInSight({ items, keyOf, rowPx: ROW_PX })
  const line = `grid items-center gap-x-4 px-3 ${grid}`
  return (
    <div
      role="table"
      aria-label={label}
      aria-rowcount={items.length + 1}
      className="rounded-lg border border-line bg-panel in-data-panel:border-0"
    >
      <div role="rowgroup" className="sticky top-0 z-10">
        <div
          role="row"
          aria-rowindex={1}
          className={`${line} rounded-t-lg border-b border-line bg-panel py-2 text-xs text-muted`}
        >
          {columns.map((column) => (
            <Head key={column.name} column={column} sorting={sorting} />
          ))}
        </div>
      </div>
      <div ref={frame} role="rowgroup" className="relative" style={{ height: heightPx }}>
        {rows.map(({ item, index, key, offsetPx }) => (
          <div
            key={key}
            ref={measure}
            data-index={index}
            role="row"
            aria-rowindex={index + 2}
            className={`${line} absolute inset-x-0 top-0 min-h-[41px] py-1.5 ${index + 1 < items.length ? 'border-b border-line' : ''} hover:bg-raised/50`}
            style={{ transform: `translateY(${offsetPx}px)` }}
          >
            <Cells columns={columns} item={item} />
          </div>
        ))}
      </div>
    </div>
  )
}

function PlainCells<Item>({ columns, item }: { columns: readonly Column<Item>[]; item: Item }) {
  return columns.map((column) => (
    <div key={column.name} role="cell" className={`min-w-0 ${classOf(column)}`}>
      {column.of(item)}
    </div>
  ))
}

/** Rows that stay in sight are not redrawn at each step of a scroll. */
const Cells = memo(PlainCells) as unknown as typeof PlainCells

function Head<Item>({ column, sorting }: { column: Column<Item>; sorting: LongTableProps<Item>['sorting'] }) {
  const { name, head = <ColumnName name={name} />, sort } = column
  const [by, isDown] = sorting?.by.startsWith('-') ? [sorting.by.slice(1), true] : [sorting?.by, false]
  const isSorted = sort !== undefined && by === sort.replace(/^-/, '')
  const Arrow = isDown ? ArrowDown : ArrowUp
  return (
    <div
      role="columnheader"
      aria-sort={isSorted ? (isDown ? 'descending' : 'ascending') : undefined}
      className={classOf(column)}
    >
      {sort !== undefined && sorting ? (
        <button
          type="button"
          className="inline-flex items-center gap-1 hover:text-text"
          onClick={() => sorting.change(isSorted ? (isDown ? (by ?? '') : `-${by}`) : sort)}
        >
          {name}
          {isSorted && <Arrow aria-hidden className="size-3" />}
        </button>
      ) : (
        head
      )}
    </div>
  )
}

function classOf<Item>({ from, isNumber }: Column<Item>): string {
  return `${from === undefined ? '' : HIDDEN[from]} ${isNumber ? 'text-right tabular-nums' : ''}`
}

const ROW_PX = 41
const HIDDEN = { md: 'max-md:hidden', lg: 'max-lg:hidden' }
