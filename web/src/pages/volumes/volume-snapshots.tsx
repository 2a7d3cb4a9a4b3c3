import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { runJob } from '../../api/jobs.ts'
import type { Ref, Volume, VolumeSnapshot } from '../../api/records.ts'
import { refreshVolume, volumeSnapshotsQuery } from '../../api/volume-queries.ts'
import { readWholeList } from '../../api/whole-list.ts'
import { useRights } from '../../shell/rights.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { type Column, LongTable } from '../../ui/long-table.tsx'
import { Ago } from '../../ui/now.tsx'
import { Empty, Panel } from '../../ui/page.tsx'
import { NAME_PATTERN } from '../../ui/refusal-words.ts'
import { useSearchState } from '../../ui/search-state.ts'
import { tell, tellError } from '../../ui/toasts.tsx'
import { bytesText } from '../../ui/words.ts'
import { placeOfVolume } from './place.ts'

/** The snapshots of a volume, newest first. Takes, restores and deletes them. */
export function VolumeSnapshots({ volume }: { volume: Volume }) {
  const { data: snapshots } = useSuspenseQuery(volumeSnapshotsQuery(volume))
  const { canWrite } = useRights()
  const { get, change } = useSearchState()
  const [asked, setAsked] = useState<{ act: 'restore' | 'delete'; snapshot: VolumeSnapshot } | null>(null)
  const close = (): void => change({ dialog: '' })
  return (
    <Panel
      title="Snapshots"
      actions={canWrite && <Button onClick={() => change({ dialog: 'snapshot' })}>Take snapshot</Button>}
    >
      {snapshots.length === 0 ? (
        <Empty title="No snapshots yet">
          A snapshot keeps the current content. It takes milliseconds while boxes write to it.
        </Empty>
      ) : (
        <LongTable
          label="Snapshots"
          grid={
            canWrite
              ? 'grid-cols-[1fr_11rem] md:grid-cols-[1.5fr_2fr_5rem_6rem_11rem]'
              : 'grid-cols-[1fr_6rem] md:grid-cols-[1.5fr_2fr_5rem_6rem]'
          }
          columns={canWrite ? [...COLUMNS, actionsColumn((act, snapshot) => setAsked({ act, snapshot }))] : COLUMNS}
          items={snapshots.toReversed()}
          keyOf={({ id }) => id}
        />
      )}
      <Dialog
        title={`Take a snapshot of ${volume.name}`}
        about="Keeps the current content of the volume."
        isOpen={get('dialog') === 'snapshot' && canWrite}
        close={close}
      >
        <SnapshotForm volume={volume} close={close} />
      </Dialog>
      <AskFirst volume={volume} asked={asked} close={() => setAsked(null)} />
    </Panel>
  )
}

function SnapshotForm({ volume, close }: { volume: Volume; close(): void }) {
  const { project, name } = volume
  const queries = useQueryClient()
  const take = useMutation({
    mutationFn: (body: { name?: string; comment?: string }) =>
      api().call('createVolumeSnapshot', { path: { project, name }, body }),
    onSuccess: async (snapshot) => {
      close()
      tell(`Took snapshot ${snapshot.name} of ${name}.`)
      await refreshVolume(queries, volume)
    },
  })
  return (
    <Form
      action="Take snapshot"
      isBusy={take.isPending}
      error={take.error}
      close={close}
      send={(form) => {
        const [snapshot, comment] = [form.text('name'), form.text('comment')]
        take.mutate({ ...(snapshot === '' ? {} : { name: snapshot }), ...(comment === '' ? {} : { comment }) })
      }}
    >
      <TextField
        label="Name"
        name="name"
        autoFocus
        autoComplete="off"
        spellCheck={false}
        pattern={NAME_PATTERN}
        hint="If empty, v and the next number."
      />
      <TextField label="Comment" name="comment" maxLength={1024} />
    </Form>
  )
}

function AskFirst({
  volume,
  asked,
  close,
}: {
  volume: Volume
  asked: { act: 'restore' | 'delete'; snapshot: VolumeSnapshot } | null
  close(): void
}) {
  const { project, name } = volume
  const queries = useQueryClient()
  const restore = useMutation({
    mutationFn: (snapshot: string) => restoreVolumeTo(volume, snapshot),
    onSuccess: async (_, snapshot) => {
      await tellRestored(`Restored ${name} to ${snapshot}.`, volume, (before) => restore.mutate(before))
      await refreshVolume(queries, volume)
    },
    onError: tellError,
  })
  const remove = useMutation({
    mutationFn: (snapshot: string) => api().call('deleteVolumeSnapshot', { path: { project, name, snapshot } }),
    onSuccess: async (_, snapshot) => {
      tell(`Deleted snapshot ${snapshot} of ${name}.`)
      await refreshVolume(queries, volume)
    },
    onError: tellError,
  })
  const snapshot = asked?.snapshot.name ?? ''
  return (
    <>
      <Confirm
        title={`Restore ${project}/${name} to ${snapshot}?`}
        about="Attached boxes keep running and see the restored content. An automatic snapshot keeps the current content, so you can undo this."
        action="Restore"
        isOpen={asked?.act === 'restore'}
        close={close}
        act={() => restore.mutate(snapshot)}
      />
      <Confirm
        title={`Delete the snapshot ${snapshot} of ${project}/${name}?`}
        about="You cannot undo this. Volumes created from it stay."
        action="Delete"
        isOpen={asked?.act === 'delete'}
        close={close}
        act={() => remove.mutate(snapshot)}
      />
    </>
  )
}

async function restoreVolumeTo(volume: Volume, snapshot: string): Promise<void> {
  const { project, name } = volume
  const words = { words: `Restoring ${project}/${name} to ${snapshot}`, place: placeOfVolume(volume) }
  // A volume in use is reported soon. A longer restore continues in the background.
  const query = { wait_seconds: 2 }
  await runJob(words, () => api().callFully('restoreVolume', { path: { project, name }, query, body: { snapshot } }))
}

/** Reports that a volume was restored. Undo restores the automatic snapshot of the earlier state. */
export async function tellRestored(text: string, { project, name }: Ref, restore: (snapshot: string) => void) {
  const snapshots = await readWholeList('listVolumeSnapshots', { path: { project, name } })
  const before = snapshots.findLast(({ automatic }) => automatic)
  const of = before ? [`/v1/projects/${project}/data/${name}/snapshots/${before.name}`] : []
  tell(text, before && (() => restore(before.name)), { of })
}

function actionsColumn(ask: (act: 'restore' | 'delete', snapshot: VolumeSnapshot) => void): Column<VolumeSnapshot> {
  return {
    name: '',
    of: (snapshot) => (
      <span className="flex justify-end gap-1">
        <Button aria-label={`Restore ${snapshot.name}`} onClick={() => ask('restore', snapshot)}>
          Restore
        </Button>
        <Button kind="quiet" aria-label={`Delete ${snapshot.name}`} onClick={() => ask('delete', snapshot)}>
          Delete
        </Button>
      </span>
    ),
  }
}

const COLUMNS: readonly Column<VolumeSnapshot>[] = [
  {
    name: 'Name',
    of: ({ name, created_at }) => (
      <>
        <span className="font-medium break-all">{name}</span>
        <span className="block text-xs text-muted md:hidden">
          <Ago time={created_at} />
        </span>
      </>
    ),
  },
  {
    name: 'Comment',
    from: 'md',
    of: ({ comment, automatic }) => (
      <span className="break-words">
        {comment ?? <span className="text-muted">–</span>}
        {automatic && <span className="block text-xs text-muted">automatic</span>}
      </span>
    ),
  },
  { name: 'Size', isNumber: true, from: 'md', of: ({ size_bytes }) => bytesText(size_bytes) },
  { name: 'Taken', from: 'md', of: ({ created_at }) => <Ago time={created_at} /> },
]
