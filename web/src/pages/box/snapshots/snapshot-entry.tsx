import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { BoxSnapshot, Ref } from '../../../api/records.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button, buttonStyle } from '../../../ui/button.tsx'
import { Menu, type MenuItem } from '../../../ui/menu.tsx'
import { Ago } from '../../../ui/now.tsx'
import { Chip } from '../../../ui/status.tsx'
import { bytesText, timeText } from '../../../ui/words.ts'
import { LIVE, snapshotQuery } from './queries.ts'

/** Actions on a snapshot. */
export type SnapshotAct = 'restore' | 'fork' | 'delete'

interface EntryProps {
  box: Ref
  snapshot: BoxSnapshot
  /** The snapshot before it, if there is one. */
  older: string | null
  /** Whether to count its sizes without a request. */
  isCounted: boolean
  act(what: SnapshotAct): void
}

/** A snapshot on the time line, with its content and links. */
export function SnapshotEntry({ box, snapshot, older, isCounted, act }: EntryProps) {
  const { name, automatic, comment, data, created_at: at } = snapshot
  return (
    <li className="relative rounded-lg border border-line bg-panel p-4 before:absolute before:top-5 before:-left-[1.6rem] before:size-2.5 before:rounded-full before:bg-strong">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <h3 className="flex flex-wrap items-center gap-2 font-semibold">
          {name}
          {automatic && <Chip>automatic</Chip>}
        </h3>
        <span className="text-muted">
          {timeText(at)} · <Ago time={at} />
        </span>
      </div>
      {(comment !== null || automatic) && (
        <p className="mt-1 break-words">{comment ?? 'Replaced by a restore. Boxyard keeps the newest three.'}</p>
      )}
      <div className="mt-1 flex flex-wrap items-center gap-x-4 gap-y-1 text-muted">
        <Sizes box={box} snapshot={snapshot} isCounted={isCounted} />
        {data.length > 0 && (
          <span className="flex flex-wrap items-center gap-1">
            with volumes
            {data.map((each) => (
              <Chip key={each.name}>{`${each.name} at ${each.path}${each.read_only ? ', read-only' : ''}`}</Chip>
            ))}
          </span>
        )}
      </div>
      <EntryActions box={box} name={name} older={older} act={act} />
    </li>
  )
}

/** Comparing and restoring are the main actions. The rest is behind a button. */
function EntryActions({ box, name, older, act }: Pick<EntryProps, 'box' | 'older' | 'act'> & { name: string }) {
  const { canWrite } = useRights()
  const params = { project: box.project, name: box.name }
  const more: MenuItem[] = [
    {
      key: 'files',
      link: (
        <Link to="/boxes/$project/$name/files" params={params} search={{ path: '/', snapshot: name }}>
          Files as in {name}
        </Link>
      ),
    },
    ...(older === null
      ? []
      : [
          {
            key: 'since',
            link: (
              <Link to="/boxes/$project/$name/snapshots" params={params} search={{ from: older, to: name }}>
                Changes from {older} to {name}
              </Link>
            ),
          },
        ]),
    ...(canWrite
      ? [
          { key: 'fork', words: `Fork from ${name}`, act: () => act('fork') },
          { key: 'delete', words: `Delete ${name}`, isDanger: true, act: () => act('delete') },
        ]
      : []),
  ]
  return (
    <div className="mt-3 flex flex-wrap gap-2">
      <Link
        to="/boxes/$project/$name/snapshots"
        params={params}
        search={{ from: name, to: LIVE }}
        className={buttonStyle()}
        aria-label={`Changes since ${name}`}
      >
        Changes since
      </Link>
      {canWrite && (
        <Button onClick={() => act('restore')} aria-label={`Restore ${name}`}>
          Restore
        </Button>
      )}
      <Menu label={`More actions for ${name}`} items={more} />
    </div>
  )
}

function Sizes({ box, snapshot, isCounted }: { box: Ref; snapshot: BoxSnapshot; isCounted: boolean }) {
  const [isAsked, setAsked] = useState(false)
  const { data } = useQuery({ ...snapshotQuery(box, snapshot.name), enabled: isCounted || isAsked })
  if (data === undefined && !isCounted && !isAsked) {
    return (
      <button type="button" className="underline" onClick={() => setAsked(true)}>
        Calculate size
      </button>
    )
  }
  return (
    <span className="tabular-nums">
      {bytesText((data ?? snapshot).size_bytes)}
      {data !== undefined && ` (${bytesText(data.unique_bytes)} unique)`}
    </span>
  )
}
