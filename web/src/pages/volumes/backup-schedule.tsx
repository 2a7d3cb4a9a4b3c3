import type { CallInput } from '@boxyard/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Volume } from '../../api/records.ts'
import { refreshVolume, volumeQuery } from '../../api/volume-queries.ts'
import { useRights } from '../../shell/rights.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { CheckField, SelectField, TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { tell } from '../../ui/toasts.tsx'
import { volumeResource } from '../../ui/undo-end.ts'
import { intervalOf, scheduleText, UNITS } from './schedule-words.ts'

type Body = CallInput<'updateBackupSchedule'>['body']

/** Shows how often a volume is backed up, and changes it. */
export function BackupSchedule({ volume }: { volume: Volume }) {
  const { canWrite } = useRights()
  const { get, change } = useSearchState()
  const { backup_schedule: schedule } = volume
  const close = (): void => change({ dialog: '' })
  return (
    <>
      {schedule !== null && <p className="mb-3">{scheduleText(schedule)}</p>}
      <Dialog
        title={`Backup schedule of ${volume.name}`}
        about="Backs up now, and then at this interval. Manual backups stay until you delete them."
        isOpen={get('dialog') === 'schedule' && canWrite}
        close={close}
      >
        <ScheduleForm volume={volume} close={close} />
      </Dialog>
    </>
  )
}

function ScheduleForm({ volume, close }: { volume: Volume; close(): void }) {
  const { project, name, backup_schedule: before } = volume
  const [isOn, setOn] = useState(true)
  const queries = useQueryClient()
  const update = useMutation({
    mutationFn: (body: Body) => api().call('updateBackupSchedule', { path: { project, name }, body }),
    // The value at this moment, because the displayed one changes with the event, which may arrive before the answer.
    onMutate: () => before,
    onSuccess: (after, _, was) => {
      queries.setQueryData(volumeQuery(volume).queryKey, after)
      void refreshVolume(queries, volume)
      close()
      const undo = (): void => update.mutate(was ?? { interval_seconds: null })
      tell(
        after.backup_schedule === null
          ? `Turned off scheduled backups of ${name}.`
          : scheduleText(after.backup_schedule),
        undo,
        { of: [volumeResource(volume)] },
      )
    },
  })
  return (
    <Form
      action="Save"
      isBusy={update.isPending}
      error={update.error}
      close={close}
      send={(form) => update.mutate(isOn ? bodyOf(form) : { interval_seconds: null })}
    >
      <CheckField label="Scheduled backups" checked={isOn} onChange={(event) => setOn(event.target.checked)} />
      {isOn && <ScheduleFields before={before} />}
    </Form>
  )
}

function ScheduleFields({ before }: { before: Volume['backup_schedule'] }) {
  const { count, unit } = intervalOf(before?.interval_seconds ?? 86_400)
  return (
    <div className="grid grid-cols-2 gap-4">
      <TextField
        label="Every"
        name="count"
        apiNames={['interval_seconds']}
        type="number"
        required
        min="1"
        step="1"
        defaultValue={count}
      />
      <SelectField label="Unit" name="unit" defaultValue={unit.seconds}>
        {UNITS.map(({ name: word, seconds }) => (
          <option key={word} value={seconds}>
            {word}
          </option>
        ))}
      </SelectField>
      <TextField
        label="Older backups to keep"
        name="keep_count"
        type="number"
        min="1"
        max="10000"
        step="1"
        placeholder="all"
        defaultValue={before ? (before.keep_count ?? '') : 7}
        hint="In addition to the newest"
      />
      <TextField
        label="Keep for days"
        name="keep_days"
        apiNames={['keep_seconds']}
        type="number"
        min="0.001"
        step="any"
        placeholder="forever"
        defaultValue={before?.keep_seconds ? before.keep_seconds / 86_400 : ''}
      />
    </div>
  )
}

function bodyOf(form: FormValues): Body {
  const [kept, days] = [Number(form.text('keep_count')), Number(form.text('keep_days'))]
  return {
    interval_seconds: Number(form.text('count')) * Number(form.text('unit')),
    keep_count: kept > 0 ? kept : null,
    keep_seconds: days > 0 ? Math.round(days * 86_400) : null,
  }
}
