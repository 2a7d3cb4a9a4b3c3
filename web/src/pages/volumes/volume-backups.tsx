import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { type JobInput, runJob } from '../../api/jobs.ts'
import type { Backup, Volume } from '../../api/records.ts'
import { refreshVolume, volumeBackupsQuery } from '../../api/volume-queries.ts'
import { useRights } from '../../shell/rights.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { FailedJobs } from '../../ui/failed-jobs.tsx'
import { type Column, LongTable } from '../../ui/long-table.tsx'
import { Ago } from '../../ui/now.tsx'
import { Empty, Panel } from '../../ui/page.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { Status } from '../../ui/status.tsx'
import { tell, tellError } from '../../ui/toasts.tsx'
import { bytesText, timeText } from '../../ui/words.ts'
import { BackupSchedule } from './backup-schedule.tsx'
import { placeOfVolume } from './place.ts'
import { RestoreBackup } from './restore-backup.tsx'

/** The backups of a volume, newest first, and their schedule. Creates, restores and deletes them. */
export function VolumeBackups({ volume }: { volume: Volume }) {
  const { data: backups } = useSuspenseQuery(volumeBackupsQuery(volume))
  const { canWrite } = useRights()
  const { change } = useSearchState()
  const [asked, setAsked] = useState<{ act: 'restore' | 'delete'; backup: Backup; again?: JobInput } | null>(null)
  const make = useMakeBackup(volume)
  return (
    <Panel
      title="Backups"
      actions={
        canWrite && (
          <span className="flex flex-wrap gap-2">
            <Button onClick={() => change({ dialog: 'schedule' })}>Schedule</Button>
            <Button disabled={make.isPending} onClick={() => make.mutate()}>
              {make.isPending ? 'Backing up…' : 'Back up now'}
            </Button>
          </span>
        )
      }
    >
      <FailedJobs
        place={placeOfVolume(volume)}
        again={(again) => {
          const backup = backups.find(({ id }) => id === again['backup'])
          if (backup) setAsked({ act: 'restore', backup, again })
          else tellError(new Error('The backup no longer exists.'))
        }}
      />
      <BackupSchedule volume={volume} />
      {backups.length === 0 ? (
        <Empty title="No backups yet">
          A backup is a copy outside this host. You can restore it even if the host is lost.
        </Empty>
      ) : (
        <LongTable
          label="Backups"
          grid={
            canWrite
              ? 'grid-cols-[1fr_11rem] md:grid-cols-[7rem_1fr_6rem_7rem_11rem]'
              : 'grid-cols-[1fr_6rem] md:grid-cols-[7rem_1fr_6rem_7rem]'
          }
          columns={canWrite ? [...COLUMNS, actionsColumn((act, backup) => setAsked({ act, backup }))] : COLUMNS}
          items={backups.toReversed()}
          keyOf={({ id }) => id}
        />
      )}
      {asked?.act === 'restore' && (
        <RestoreBackup
          volume={volume}
          backup={asked.backup}
          {...(asked.again ? { again: asked.again } : {})}
          close={() => setAsked(null)}
        />
      )}
      <DeleteBackup
        volume={volume}
        backup={asked?.act === 'delete' ? asked.backup : null}
        close={() => setAsked(null)}
      />
    </Panel>
  )
}

function useMakeBackup(volume: Volume) {
  const { project, name } = volume
  const queries = useQueryClient()
  const refresh = (): Promise<void> => refreshVolume(queries, volume)
  return useMutation({
    mutationFn: () =>
      runJob({ words: `Backing up ${project}/${name}`, place: placeOfVolume(volume) }, async () => {
        const answer = await api().callFully('createBackup', { path: { project, name }, query: { wait_seconds: 0 } })
        void refresh()
        return answer
      }),
    onSuccess: () => tell(`Backed up ${project}/${name}.`),
    onError: tellError,
    onSettled: refresh,
  })
}

function DeleteBackup({ volume, backup, close }: { volume: Volume; backup: Backup | null; close(): void }) {
  const { project, name } = volume
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: ({ id }: Backup) => api().call('deleteBackup', { path: { project, name, backup: id } }),
    onSuccess: () => tell(`Deleted the backup of ${project}/${name}.`),
    onError: tellError,
    onSettled: () => refreshVolume(queries, volume),
  })
  return (
    <Confirm
      title={`Delete the backup of ${project}/${name} of ${timeText(backup?.created_at)}?`}
      about={
        backup?.status === 'running'
          ? 'This cancels the running backup.'
          : 'You cannot restore it afterwards. Backups that build on it stay complete.'
      }
      action="Delete"
      isOpen={backup !== null}
      close={close}
      act={() => backup && remove.mutate(backup)}
    />
  )
}

function actionsColumn(ask: (act: 'restore' | 'delete', backup: Backup) => void): Column<Backup> {
  return {
    name: '',
    of: (backup) => (
      <span className="flex justify-end gap-1">
        {backup.status === 'done' && (
          <Button
            aria-label={`Restore the backup of ${timeText(backup.created_at)}`}
            onClick={() => ask('restore', backup)}
          >
            Restore
          </Button>
        )}
        <Button
          kind="quiet"
          aria-label={`Delete the backup of ${timeText(backup.created_at)}`}
          onClick={() => ask('delete', backup)}
        >
          Delete
        </Button>
      </span>
    ),
  }
}

const COLUMNS: readonly Column<Backup>[] = [
  {
    name: 'Created',
    of: ({ created_at, status, size_bytes }) => (
      <>
        <Ago time={created_at} />
        <span className="block text-xs text-muted md:hidden">
          {status}, {bytesText(size_bytes)}
        </span>
      </>
    ),
  },
  {
    name: 'Kind',
    from: 'md',
    of: ({ incremental_of, automatic, error, id }) => (
      <span className="break-words" title={id}>
        {incremental_of === null ? 'full' : 'incremental'}
        {automatic && <span className="text-muted">, scheduled</span>}
        {error !== null && <span className="block text-xs text-bad">{error}</span>}
      </span>
    ),
  },
  { name: 'Size', isNumber: true, from: 'md', of: ({ size_bytes }) => bytesText(size_bytes) },
  { name: 'Status', from: 'md', of: ({ status, error }) => <Status status={status} title={error ?? undefined} /> },
]
