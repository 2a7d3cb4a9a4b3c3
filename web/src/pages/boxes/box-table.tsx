import { Link } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState } from 'react'
import type { Box } from '../../api/records.ts'
import { Ago } from '../../ui/now.tsx'
import { BoxState, Chip } from '../../ui/status.tsx'

interface BoxTableProps {
  boxes: readonly Box[]
  /** Whether the node of each is shown: there are several. */
  hasNodes: boolean
  /** Ids of the chosen ones. */
  chosen: ReadonlySet<string>
  /** Null where nothing can be done with them. */
  setChosen: ((chosen: ReadonlySet<string>) => void) | null
}

/** A list of any number of boxes, of which only the rows in sight are in the page. */
export function BoxTable({ boxes, hasNodes, chosen, setChosen }: BoxTableProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  useLayoutEffect(() => setTop(frame.current?.offsetTop ?? 0), [])
  const rows = useWindowVirtualizer({
    count: boxes.length,
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin: top,
  })
  const grid = hasNodes ? GRID_WITH_NODES : GRID
  const isAll = boxes.every(({ id }) => chosen.has(id))
  const choose = (id: string): void => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen?.(next)
  }
  const chooseAll = (): void => setChosen?.(new Set(isAll ? [] : boxes.map(({ id }) => id)))
  return (
    <div
      role="table"
      aria-label="Boxes"
      aria-rowcount={boxes.length + 1}
      className="rounded-lg border border-line bg-panel"
    >
      <div role="row" className={`${grid} border-b border-line py-2 text-xs text-muted`}>
        <BoxHeads hasNode={hasNodes} isAll={isAll} chooseAll={setChosen ? chooseAll : null} />
      </div>
      <div ref={frame} role="rowgroup" style={{ height: rows.getTotalSize(), position: 'relative' }}>
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const box = boxes[index]
          if (!box) return null
          return (
            <div
              key={key}
              role="row"
              aria-rowindex={index + 2}
              className={`${grid} absolute inset-x-0 top-0 border-b border-line hover:bg-raised/50`}
              style={{ height: ROW_PX, transform: `translateY(${start - top}px)` }}
            >
              <BoxCells box={box} hasNode={hasNodes} isChosen={chosen.has(box.id)} choose={setChosen ? choose : null} />
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface BoxHeadsProps {
  hasNode: boolean
  isAll: boolean
  chooseAll: (() => void) | null
}

function BoxHeads({ hasNode, isAll, chooseAll }: BoxHeadsProps) {
  return (
    <>
      <span role="columnheader">
        {chooseAll && <input type="checkbox" aria-label="Choose all" checked={isAll} onChange={chooseAll} />}
      </span>
      <span role="columnheader">Name</span>
      <span role="columnheader">Status</span>
      <span role="columnheader" className="max-md:hidden">
        Base
      </span>
      {hasNode && (
        <span role="columnheader" className="max-lg:hidden">
          Node
        </span>
      )}
      <span role="columnheader" className="max-lg:hidden">
        Tags
      </span>
      <span role="columnheader" className="max-md:hidden">
        Since
      </span>
    </>
  )
}

interface BoxCellsProps {
  box: Box
  hasNode: boolean
  isChosen: boolean
  choose: ((id: string) => void) | null
}

function BoxCells({ box, hasNode, isChosen, choose }: BoxCellsProps) {
  const { id, project, name, base, node, tags } = box
  return (
    <>
      <span role="cell">
        {choose && (
          <input
            type="checkbox"
            aria-label={`Choose ${project}/${name}`}
            checked={isChosen}
            onChange={() => choose(id)}
          />
        )}
      </span>
      <span role="cell" className="truncate">
        <Link
          to="/boxes/$project/$name"
          params={{ project, name }}
          preload={false}
          className="font-medium hover:underline"
        >
          <span className="font-normal text-muted">{project}/</span>
          {name}
        </Link>
      </span>
      <span role="cell">
        <BoxState box={box} />
      </span>
      <span role="cell" className="truncate max-md:hidden">
        {base ?? '–'}
      </span>
      {hasNode && (
        <span role="cell" className="truncate max-lg:hidden" title={node}>
          {node}
        </span>
      )}
      <span role="cell" className="flex gap-1 overflow-hidden max-lg:hidden">
        {Object.entries(tags).map(([key, value]) => (
          <Chip key={key}>{`${key}=${value}`}</Chip>
        ))}
      </span>
      <span role="cell" className="text-muted max-md:hidden">
        <Ago time={box.state.since} />
      </span>
    </>
  )
}

const ROW_PX = 41
const COLUMNS = 'grid grid-cols-[1.5rem_1fr_7rem] items-center gap-3 px-3 md:grid-cols-[1.5rem_1fr_7rem_9rem_7rem]'
const GRID = `${COLUMNS} lg:grid-cols-[1.5rem_1fr_7rem_9rem_14rem_7rem]`
const GRID_WITH_NODES = `${COLUMNS} lg:grid-cols-[1.5rem_1fr_7rem_8rem_9rem_12rem_7rem]`
