import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { storageQuery } from '../../api/queries.ts'
import type { StorageReport } from '../../api/records.ts'
import { useRights } from '../../shell/rights.ts'
import { Button } from '../../ui/button.tsx'
import { Ago } from '../../ui/now.tsx'
import { Meter, Panel } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { tell, tellError } from '../../ui/toasts.tsx'
import { bytesText } from '../../ui/words.ts'

type Scrub = NonNullable<StorageReport['scrub']>

/** The last check of all stored data against its checksums, or the current one. Starts another. */
export function ScrubPanel({ report }: { report: StorageReport }) {
  const { isAdmin, isOfAll } = useRights()
  const queries = useQueryClient()
  const { scrub, pool } = report
  const isRunning = scrub?.status === 'running'
  // No event reports it.
  useQuery({ ...storageQuery, refetchInterval: isRunning ? POLL_MS : false })
  const start = useMutation({
    mutationFn: () => api().call('startScrub', {}),
    onSuccess: async () => {
      tell('Started the check. Boxes keep running.')
      await queries.invalidateQueries({ queryKey: storageQuery.queryKey })
    },
    onError: tellError,
  })
  if (!isOfAll) return null
  return (
    <Panel
      title="Checksums"
      actions={
        isAdmin && (
          <Button disabled={isRunning || start.isPending} onClick={() => start.mutate()}>
            {isRunning || start.isPending ? 'Checking…' : 'Check now'}
          </Button>
        )
      }
    >
      {scrub === null ? (
        <p className="text-muted">
          Not checked yet. A check (scrub) reads all data and compares it with its checksums.
        </p>
      ) : (
        <ScrubState scrub={scrub} usedBytes={pool ? pool.data.used_bytes + pool.metadata.used_bytes : null} />
      )}
    </Panel>
  )
}

function ScrubState({ scrub, usedBytes }: { scrub: Scrub; usedBytes: number | null }) {
  const { status, started_at: started, ended_at: ended, checked_bytes: checked, errors } = scrub
  const isKnown = status === 'running' || status === 'done'
  return (
    <div className="flex flex-col gap-3">
      <p className="flex flex-wrap gap-x-4 gap-y-1">
        <Status status={status} />
        <span className="text-muted">
          started <Ago time={started} />
          {ended !== null && (
            <>
              , ended <Ago time={ended} />
            </>
          )}
        </span>
        {isKnown && <span>{bytesText(checked)} checked</span>}
        {isKnown && (
          <span className={errors > 0 ? 'font-medium text-bad' : ''}>
            {errors === 0 ? 'no errors' : `${errors} errors`}
          </span>
        )}
      </p>
      {status === 'running' && usedBytes !== null && (
        <Meter
          name="Checked"
          used={checked}
          total={Math.max(usedBytes, checked)}
          words={`${bytesText(checked)} of ${bytesText(Math.max(usedBytes, checked))}`}
        />
      )}
      {status === 'done' && errors > 0 && (
        <p className="rounded-md bg-bad-soft p-3">
          The kernel log names the files. Restore them from earlier snapshots or from backups.
        </p>
      )}
      {status === 'failed' && (
        <p className="rounded-md bg-warn-soft p-3">The check failed. Health shows why. Start another one.</p>
      )}
      {status === 'interrupted' && <p>The agent stopped during the check. Start another one.</p>}
    </div>
  )
}

const POLL_MS = 2_000
