import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Box } from '../../api/records.ts'
import { type Rights, useRights } from '../../shell/rights.ts'
import { ABOVE_ROW_LINK, type Column, LongTable, ROW_LINK } from '../../ui/long-table.tsx'
import { Ago } from '../../ui/now.tsx'
import { BoxState } from '../../ui/status.tsx'
import { TagsInRow } from '../../ui/tags-field.tsx'
import { RowActions } from './row-actions.tsx'

interface BoxTableProps {
  boxes: readonly Box[]
  /** Whether to show the node of each, because there are several. */
  hasNodes: boolean
  /** Ids of the chosen boxes. */
  chosen: ReadonlySet<string>
  sorting: { by: string; change(by: string): void }
  /** Null if no action is available. */
  setChosen: ((chosen: ReadonlySet<string>) => void) | null
}

/** A list of any number of boxes, with a selection. */
export function BoxTable({ boxes, hasNodes, sorting, chosen, setChosen }: BoxTableProps) {
  const { canExec, canWrite } = useRights()
  const columns = useMemo(() => {
    const shown = columnsFor({ canExec, canWrite }).filter(({ name }) => hasNodes || name !== 'Node')
    return [chooseColumn({ boxes, chosen, setChosen }), ...shown]
  }, [boxes, hasNodes, chosen, setChosen, canExec, canWrite])
  return (
    <LongTable
      label="Boxes"
      grid={hasNodes ? GRID_WITH_NODES : GRID}
      columns={columns}
      items={boxes}
      keyOf={({ id }) => id}
      sorting={sorting}
    />
  )
}

function chooseColumn({ boxes, chosen, setChosen }: Omit<BoxTableProps, 'hasNodes' | 'sorting'>): Column<Box> {
  if (setChosen === null) return { name: 'Select', head: null, of: () => null }
  const isAll = boxes.every(({ id }) => chosen.has(id))
  const chooseAll = (): void => setChosen(new Set(isAll ? [] : boxes.map(({ id }) => id)))
  const choose = (id: string): void => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  return {
    name: 'Select',
    head: <input type="checkbox" aria-label="Select all" checked={isAll} onChange={chooseAll} />,
    of: ({ id, project, name }) => (
      // The label makes the whole cell press it.
      <label className={`-my-1.5 -ml-3 flex min-h-10 items-center pl-3 ${ABOVE_ROW_LINK}`}>
        <input
          type="checkbox"
          aria-label={`Select ${project}/${name}`}
          checked={chosen.has(id)}
          onChange={() => choose(id)}
        />
      </label>
    ),
  }
}

/** Returns the columns for the permissions of the session. */
const columnsFor = ({ canExec, canWrite }: Pick<Rights, 'canExec' | 'canWrite'>): readonly Column<Box>[] => [
  {
    name: 'Name',
    sort: 'name',
    of: ({ project, name, status }) => (
      <Link
        to={canExec && status === 'running' ? '/boxes/$project/$name/terminal' : '/boxes/$project/$name'}
        params={{ project, name }}
        preload={false}
        aria-label={`${project}/${name}`}
        title={`${project}/${name}`}
        className={`flex font-medium hover:underline ${ROW_LINK}`}
      >
        {/* Without space for both, the project is cut. */}
        <span className="min-w-4 truncate font-normal text-muted">{project}/</span>
        <span className="max-w-[calc(100%-1rem)] shrink-0 truncate">{name}</span>
      </Link>
    ),
  },
  {
    name: 'Status',
    sort: 'status',
    of: (box) => (
      <span className={ABOVE_ROW_LINK}>
        <BoxState box={box} />
      </span>
    ),
  },
  { name: 'Base', from: 'md', of: ({ base }) => <span className="block truncate">{base ?? '–'}</span> },
  {
    name: 'Node',
    from: 'lg',
    of: ({ node }) => (
      <span className={`block w-fit max-w-full truncate ${ABOVE_ROW_LINK}`} title={node}>
        {node}
      </span>
    ),
  },
  {
    name: 'Tags',
    from: 'lg',
    of: ({ tags }) => (
      <span className={`block w-fit max-w-full ${ABOVE_ROW_LINK}`}>
        <TagsInRow tags={tags} />
      </span>
    ),
  },
  {
    name: 'Since',
    sort: 'changed',
    from: 'md',
    of: ({ state }) => (
      <span className={`text-muted ${ABOVE_ROW_LINK}`}>
        <Ago time={state.since} />
      </span>
    ),
  },
  { name: '', from: 'md', of: (box) => <RowActions box={box} canExec={canExec} canWrite={canWrite} /> },
]

const WIDTHS = 'grid-cols-[1.5rem_1fr_7rem] md:grid-cols-[1.5rem_1fr_7rem_8rem_6rem_6.5rem]'
const GRID = `${WIDTHS} lg:grid-cols-[1.5rem_1fr_7rem_8rem_14rem_6rem_6.5rem]`
const GRID_WITH_NODES = `${WIDTHS} lg:grid-cols-[1.5rem_1fr_7rem_8rem_8rem_12rem_6rem_6.5rem]`
