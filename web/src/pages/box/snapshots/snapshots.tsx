import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import { boxQuery, boxSnapshotsQuery } from '../../../api/queries.ts'
import type { BoxSnapshot } from '../../../api/records.ts'
import { usePageSearch } from '../../../shell/page-search.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button, buttonStyle } from '../../../ui/button.tsx'
import { Confirm } from '../../../ui/confirm.tsx'
import { Empty } from '../../../ui/page.tsx'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { useBoxRef } from '../box.tsx'
import { type FileInDiff, fileOfAddress } from './diff-address.ts'
import { FileDiff } from './file-diff.tsx'
import { ForkSnapshot } from './fork-snapshot.tsx'
import { LIVE, newestFirst } from './queries.ts'
import { RestoreBox } from './restore-box.tsx'
import { SnapshotDiff } from './snapshot-diff.tsx'
import { type SnapshotAct, SnapshotEntry } from './snapshot-entry.tsx'
import { TakeSnapshot } from './take-snapshot.tsx'

type DiffAddress = Record<'from' | 'to' | 'file' | 'file64' | 'was' | 'was64', string>

/** The snapshots of a box on a time line, or the changes between two of them if the address names these. */
export function SnapshotsPage() {
  const { from, to = LIVE, ...named } = usePageSearch<DiffAddress>()
  return (
    <div className="flex w-full max-w-6xl flex-col gap-5 p-4 md:p-6">
      <Shown from={from} to={to} file={fileOfAddress(named)} />
    </div>
  )
}

function Shown({ from, to, file }: { from: string | undefined; to: string; file: FileInDiff | null }) {
  const box = useBoxRef()
  if (from === undefined) return <TimeLine />
  return file === null ? <SnapshotDiff from={from} to={to} /> : <FileDiff box={box} places={file} {...{ from, to }} />
}

function TimeLine() {
  const ref = useBoxRef()
  const { data: box } = useSuspenseQuery(boxQuery(ref))
  const { data: snapshots } = useSuspenseQuery(boxSnapshotsQuery(ref))
  const { canWrite } = useRights()
  const [isTaking, setTaking] = useState(false)
  const [acting, setActing] = useState<{ what: SnapshotAct; snapshot: BoxSnapshot } | null>(null)
  const [shown, setShown] = useState(SHOWN_AT_ONCE)
  const close = (): void => setActing(null)
  const actingOn = (what: SnapshotAct): BoxSnapshot | null => (acting?.what === what ? acting.snapshot : null)
  const newest = newestFirst(snapshots)
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-lg font-semibold">Timeline</h2>
        <div className="flex flex-wrap gap-2">
          {newest[0] && (
            <Link
              to="/boxes/$project/$name/snapshots"
              params={ref}
              search={{ from: newest[0].name, to: LIVE }}
              className={buttonStyle()}
            >
              Compare
            </Link>
          )}
          {canWrite && (
            <Button kind="primary" onClick={() => setTaking(true)}>
              Take snapshot
            </Button>
          )}
        </div>
      </div>
      {newest.length === 0 ? (
        <Empty title="No snapshots yet">
          A snapshot keeps the current disk. It takes milliseconds while the box runs.{' '}
          {canWrite ? 'Take one here' : 'To take one, ask for a token with write permission'}, or run{' '}
          <code>boxyard snapshot {box.name}</code>.
        </Empty>
      ) : (
        <ol aria-label="Snapshots, newest first" className="ml-2 flex flex-col gap-3 border-l-2 border-line pl-5">
          <li className="relative py-1 text-muted before:absolute before:top-2.5 before:-left-[1.6rem] before:size-2.5 before:rounded-full before:bg-accent">
            Now – {box.status}
          </li>
          {newest.slice(0, shown).map((snapshot, index) => (
            <SnapshotEntry
              key={snapshot.id}
              box={box}
              snapshot={snapshot}
              older={newest[index + 1]?.name ?? null}
              isCounted={index < COUNTED_AT_ONCE}
              act={(what) => setActing({ what, snapshot })}
            />
          ))}
        </ol>
      )}
      {newest.length > shown && (
        <Button className="self-center" onClick={() => setShown(shown + SHOWN_AT_ONCE)}>
          Show older ({newest.length - shown})
        </Button>
      )}
      <TakeSnapshot box={box} isOpen={isTaking} close={() => setTaking(false)} />
      <RestoreBox box={box} snapshot={actingOn('restore')} close={close} />
      <ForkSnapshot box={ref} snapshot={actingOn('fork')?.name ?? null} close={close} />
      <DeleteSnapshot snapshot={actingOn('delete')?.name ?? null} close={close} />
    </>
  )
}

function DeleteSnapshot({ snapshot, close }: { snapshot: string | null; close(): void }) {
  const { project, name } = useBoxRef()
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: (which: string) => api().call('deleteBoxSnapshot', { path: { project, name, snapshot: which } }),
    onSuccess: async (_, which) => {
      tell(`Deleted snapshot ${which}.`)
      await queries.invalidateQueries({ queryKey: boxSnapshotsQuery({ project, name }).queryKey })
    },
    onError: tellError,
  })
  return (
    <Confirm
      title={`Delete the snapshot ${snapshot ?? ''} of ${project}/${name}?`}
      about="You cannot undo this. Boxes forked from it and files restored from it stay."
      action="Delete"
      isOpen={snapshot !== null}
      close={close}
      act={() => snapshot !== null && remove.mutate(snapshot)}
    />
  )
}

const SHOWN_AT_ONCE = 50
/** The service counts sizes on request. */
const COUNTED_AT_ONCE = 5
