import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { type JobInput, runJob } from '../../api/jobs.ts'
import { volumesQuery } from '../../api/queries.ts'
import type { Backup, Volume } from '../../api/records.ts'
import { refreshVolume } from '../../api/volume-queries.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { endedName } from '../../ui/free-name.ts'
import { NAME_PATTERN } from '../../ui/refusal-words.ts'
import { tell, tellError } from '../../ui/toasts.tsx'
import { timeText } from '../../ui/words.ts'
import { placeOfVolume } from './place.ts'
import { tellRestored } from './volume-snapshots.tsx'

interface RestoreBackupProps {
  volume: Volume
  backup: Backup
  /** The form values of a failed attempt. */
  again?: JobInput
  close(): void
}

/** Restores a backup as a new volume, or over its own volume, which can be undone. */
export function RestoreBackup({ volume, backup, again = {}, close }: RestoreBackupProps) {
  const { project, name } = volume
  const [isNew, setNew] = useState(again['as'] !== '')
  const restore = useRestore(volume, backup, close)
  // The volumes may load after the dialog, and the typed text stays.
  const [typed, setTyped] = useState<string | null>(again['as'] || null)
  const { data: volumes = [] } = useQuery(volumesQuery)
  const taken = volumes.filter((each) => each.project === project).map((each) => each.name)
  return (
    <Dialog
      title={`Restore the backup of ${timeText(backup.created_at)}`}
      about="Boxyard verifies all data first. Nothing changes until the download is complete."
      isOpen
      close={close}
    >
      <Form
        action="Restore"
        isBusy={restore.isPending}
        error={restore.error}
        close={close}
        send={(form) => restore.mutate(isNew ? form.text('as') : null)}
      >
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1 text-sm font-medium">Restore to</legend>
          <label className="flex items-center gap-2">
            <input type="radio" name="where" checked={isNew} onChange={() => setNew(true)} /> a new volume
          </label>
          <label className="flex items-center gap-2">
            <input type="radio" name="where" checked={!isNew} onChange={() => setNew(false)} /> {project}/{name},
            replacing its content
          </label>
        </fieldset>
        {isNew ? (
          <TextField
            label="Name of the new volume"
            name="as"
            required
            spellCheck={false}
            pattern={NAME_PATTERN}
            value={typed ?? endedName(name, 'restored', taken)}
            onChange={(event) => setTyped(event.target.value)}
          />
        ) : (
          <p className="rounded-md bg-warn-soft p-3">
            {volume.attachments.length > 0 &&
              `This replaces the content in ${volume.attachments.map(({ box }) => box).join(', ')} while they run. `}
            An automatic snapshot keeps the current content, so you can undo this.
          </p>
        )}
      </Form>
    </Dialog>
  )
}

function useRestore(volume: Volume, { id, created_at: made }: Backup, close: () => void) {
  const { project, name } = volume
  const queries = useQueryClient()
  const undo = (snapshot: string): void =>
    void api()
      .call('restoreVolume', { path: { project, name }, body: { snapshot } })
      .then(() => tell(`Undid the restore of ${project}/${name}.`), tellError)
  return useMutation({
    // The end is reported on the page that the user is on by then, because it may take minutes.
    mutationFn: async (as: string | null) => {
      const place = placeOfVolume(volume)
      const words = as === null ? `Restoring ${project}/${name}` : `Restoring a backup as ${project}/${as}`
      const body = as === null ? {} : { as }
      const begin = () =>
        api().callFully('restoreBackup', {
          path: { project, name, backup: id },
          query: { wait_seconds: 0 },
          body,
        })
      // The dialog shows an immediate refusal.
      const answer = await begin()
      close()
      void runJob({ words, place, input: { project, name: as ?? name, backup: id, as: as ?? '' } }, () =>
        Promise.resolve(answer),
      )
        .then(() =>
          as === null
            ? tellRestored(`Restored ${project}/${name} to the backup of ${timeText(made)}.`, volume, undo)
            : tell(`Restored the backup as ${project}/${as}.`),
        )
        .catch(tellError)
        .finally(() => void refreshVolume(queries, volume))
    },
  })
}
