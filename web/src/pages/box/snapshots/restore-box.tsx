import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import { boxQuery, boxSnapshotsQuery } from '../../../api/queries.ts'
import type { Box, BoxSnapshot, Ref } from '../../../api/records.ts'
import { Dialog } from '../../../ui/dialog.tsx'
import { CheckField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { boxResource } from '../../../ui/undo-end.ts'
import { newestFirst } from './queries.ts'

interface Restoring {
  snapshot: string
  withData: boolean
}

/** Confirms and restores a box to a snapshot. Undo is another restore. */
export function RestoreBox({ box, snapshot, close }: { box: Box; snapshot: BoxSnapshot | null; close(): void }) {
  const queries = useQueryClient()
  const [withData, setWithData] = useState(true)
  const hasData = (snapshot?.data.length ?? 0) > 0
  const restore = useMutation({
    mutationFn: (wanted: Restoring) => restoreAndFindOld(queries, box, wanted),
    onSuccess: (old, wanted) =>
      tell(
        `Restored ${box.name} to ${wanted.snapshot}.`,
        old === null ? undefined : () => restore.mutate({ snapshot: old, withData: wanted.withData }),
        { of: old === null ? [] : [`${boxResource(box)}/snapshots/${old}`] },
      ),
    onError: tellError,
  })
  return (
    <Dialog
      title={`Restore ${box.project}/${box.name} to ${snapshot?.name ?? ''}?`}
      about={`${box.status === 'running' ? 'The box restarts with the disk of the snapshot. ' : ''}An automatic snapshot keeps the current disk, so you can undo this. Boxyard keeps the newest three. Settings, tags and mounts do not change.`}
      isOpen={snapshot !== null}
      close={close}
    >
      <Form
        action="Restore"
        isDanger
        close={close}
        send={() => {
          close()
          if (snapshot) restore.mutate({ snapshot: snapshot.name, withData: hasData && withData })
        }}
      >
        {hasData && (
          <CheckField
            label="Also restore its data volumes"
            checked={withData}
            onChange={(event) => setWithData(event.target.checked)}
            hint={`Restores ${snapshot?.data.map(({ name }) => name).join(', ')}, if the box can write to it.`}
          />
        )}
      </Form>
    </Dialog>
  )
}

/** Restores, and returns the automatic snapshot that this left, or null if it no longer exists. */
async function restoreAndFindOld(queries: QueryClient, ref: Ref, wanted: Restoring): Promise<string | null> {
  const path = { project: ref.project, name: ref.name }
  const before = await queries.query({ ...boxSnapshotsQuery(ref), staleTime: 0 })
  const body = { snapshot: wanted.snapshot, include_data: wanted.withData }
  const { headers } = await api().callFully('restoreBox', { path, body })
  const operation = headers.get('operation-location')
  if (operation !== null) await api().waitForOperation(operation)
  const after = await queries.query({ ...boxSnapshotsQuery(ref), staleTime: 0 })
  void queries.invalidateQueries({ queryKey: boxQuery(ref).queryKey })
  const known = new Set(before.map(({ id }) => id))
  return newestFirst(after).find(({ id, automatic }) => automatic && !known.has(id))?.name ?? null
}
