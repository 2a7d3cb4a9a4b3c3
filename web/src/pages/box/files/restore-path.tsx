import { ApiError } from '@boxyard/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import { boxSnapshotsQuery } from '../../../api/queries.ts'
import type { Ref } from '../../../api/records.ts'
import { Dialog } from '../../../ui/dialog.tsx'
import { CheckField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { boxResource } from '../../../ui/undo-end.ts'
import { type FilePlace, placeQuery } from './place.ts'

interface RestorePathProps {
  box: Ref
  snapshot: string
  /** The path to restore, or null to ask nothing. */
  place: FilePlace | null
  close(): void
}

/** Confirms and restores a file or directory from a snapshot. Undo uses the automatic snapshot from before. */
export function RestorePath({ box, snapshot, place, close }: RestorePathProps) {
  const { project, name } = box
  const queries = useQueryClient()
  const [isKept, setKept] = useState(true)
  const restore = useMutation({
    mutationFn: (wanted: FilePlace) => restoreKeeping({ box, snapshot, place: wanted, isKept }),
    onSuccess: async (kept, wanted) => {
      const undo = kept === null ? undefined : () => void undoRestore(box, kept, wanted).then(refresh, tellError)
      tell(`Restored ${wanted.text} to ${snapshot}.`, undo, { of: [boxResource(box)] })
      await refresh()
    },
    onError: tellError,
  })
  const refresh = async (): Promise<void> => {
    for (const key of ['files', 'box-diff']) await queries.invalidateQueries({ queryKey: [key, project, name] })
    await queries.invalidateQueries({ queryKey: boxSnapshotsQuery(box).queryKey })
  }
  return (
    <Dialog
      title={`Restore ${place?.text ?? ''} from ${snapshot}?`}
      about="This replaces the current content of this path, including everything in a directory. The rest of the box does not change."
      isOpen={place !== null}
      close={close}
    >
      <Form
        action="Restore"
        isDanger
        close={close}
        send={() => {
          close()
          if (place) restore.mutate(place)
        }}
      >
        <CheckField
          label="Take a snapshot first"
          checked={isKept}
          onChange={(event) => setKept(event.target.checked)}
          hint="Keeps the current content, so you can undo this."
        />
      </Form>
    </Dialog>
  )
}

async function restoreKeeping(wanted: { box: Ref; snapshot: string; place: FilePlace; isKept: boolean }) {
  const { box, snapshot, place, isKept } = wanted
  const path = { project: box.project, name: box.name }
  const comment = `Before restoring ${place.text} from ${snapshot}`.slice(0, 1024)
  const kept = isKept ? await api().call('createBoxSnapshot', { path, body: { comment } }) : null
  await api().call('restoreFile', { path, body: { ...placeQuery(place), snapshot } })
  return kept?.name ?? null
}

async function undoRestore(box: Ref, kept: string, place: FilePlace): Promise<void> {
  const path = { project: box.project, name: box.name }
  try {
    await api().call('restoreFile', { path, body: { ...placeQuery(place), snapshot: kept } })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'file_not_found')) throw error
    // There was nothing before.
    await api().call('deleteFile', { path, query: { ...placeQuery(place), recursive: true } })
  }
  tell(`Undid the restore of ${place.text}.`)
}
