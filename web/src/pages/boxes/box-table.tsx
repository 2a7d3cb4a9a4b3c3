import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Box } from '../../api/records.ts'
import { type Column, LongTable } from '../../ui/long-table.tsx'
import { Ago } from '../../ui/now.tsx'
import { BoxState } from '../../ui/status.tsx'
import { TagsInRow } from '../../ui/tags-field.tsx'

interface BoxTableProps {
  boxes: readonly Box[]
  /** Whether the node of each is shown: there are several. */
  hasNodes: boolean
  /** Ids of the chosen ones. */
  chosen: ReadonlySet<string>
  /** Null where nothing can be done with them. */
  setChosen: ((chosen: ReadonlySet<string>) => void) | null
}

/** A list of any number of boxes, which can be chosen. */
export function BoxTable({ boxes, hasNodes, chosen, setChosen }: BoxTableProps) {
  const columns = useMemo(
    () => [chooseColumn({ boxes, chosen, setChosen }), ...COLUMNS.filter(({ name }) => hasNodes || name !== 'Node')],
    [boxes, hasNodes, chosen, setChosen],
  )
  return (
    <LongTable
      label="Boxes"
      grid={hasNodes ? GRID_WITH_NODES : GRID}
      columns={columns}
      items={boxes}
      keyOf={({ id }) => id}
    />
  )
}

function chooseColumn({ boxes, chosen, setChosen }: Omit<BoxTableProps, 'hasNodes'>): Column<Box> {
  if (setChosen === null) return { name: 'Choose', head: null, of: () => null }
  const isAll = boxes.every(({ id }) => chosen.has(id))
  const chooseAll = (): void => setChosen(new Set(isAll ? [] : boxes.map(({ id }) => id)))
  const choose = (id: string): void => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  return {
    name: 'Choose',
    head: <input type="checkbox" aria-label="Choose all" checked={isAll} onChange={chooseAll} />,
    of: ({ id, project, name }) => (
      <input
        type="checkbox"
        aria-label={`Choose ${project}/${name}`}
        checked={chosen.has(id)}
        onChange={() => choose(id)}
      />
    ),
  }
}

const COLUMNS: readonly Column<Box>[] = [
  {
    name: 'Name',
    of: ({ project, name }) => (
      <Link
        to="/boxes/$project/$name"
        params={{ project, name }}
        preload={false}
        aria-label={`${project}/${name}`}
        title={`${project}/${name}`}
        className="flex font-medium hover:underline"
      >
        {/* Where there is no room for both, the project gives way. */}
        <span className="min-w-4 truncate font-normal text-muted">{project}/</span>
        <span className="max-w-[calc(100%-1rem)] shrink-0 truncate">{name}</span>
      </Link>
    ),
  },
  { name: 'Status', of: (box) => <BoxState box={box} /> },
  { name: 'Base', from: 'md', of: ({ base }) => <span className="block truncate">{base ?? '–'}</span> },
  {
    name: 'Node',
    from: 'lg',
    of: ({ node }) => (
      <span className="block truncate" title={node}>
        {node}
      </span>
    ),
  },
  {
    name: 'Tags',
    from: 'lg',
    of: ({ tags }) => <TagsInRow tags={tags} />,
  },
  {
    name: 'Since',
    from: 'md',
    of: ({ state }) => (
      <span className="text-muted">
        <Ago time={state.since} />
      </span>
    ),
  },
]

const WIDTHS = 'grid-cols-[1.5rem_1fr_7rem] md:grid-cols-[1.5rem_1fr_7rem_9rem_7rem]'
const GRID = `${WIDTHS} lg:grid-cols-[1.5rem_1fr_7rem_9rem_14rem_7rem]`
const GRID_WITH_NODES = `${WIDTHS} lg:grid-cols-[1.5rem_1fr_7rem_8rem_9rem_12rem_7rem]`
