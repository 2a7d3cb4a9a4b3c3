import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { boxQuery } from '../../api/queries.ts'
import type { Box } from '../../api/records.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { TextAreaField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { TagsField } from '../../ui/tags-field.tsx'
import { tell } from '../../ui/toasts.tsx'
import { boxResource } from '../../ui/undo-end.ts'
import { LimitFields, SleepFields } from '../boxes/box-options.tsx'
import { type BoxChanges, changesOfForm, editableVariables, valuesBefore } from './box-settings.ts'

/** Changes the settings of a box, which keeps running. */
export function ChangeBox({ box, isOpen, close }: { box: Box; isOpen: boolean; close(): void }) {
  return (
    <Dialog
      title={`Settings of ${box.project}/${box.name}`}
      about="Changes apply while the box runs. The disk cannot become smaller than its content."
      isOpen={isOpen}
      close={close}
    >
      <ChangeForm box={box} close={close} />
    </Dialog>
  )
}

function ChangeForm({ box, close }: { box: Box; close(): void }) {
  const { project, name } = box
  // The fields keep what they showed first, while the box changes.
  const [opened] = useState(box)
  const { config, tags } = opened
  const queries = useQueryClient()
  const update = useMutation({
    mutationFn: (body: BoxChanges) => api().call('updateBox', { path: { project, name }, body }),
    // The value at this moment, because the displayed one changes with the event, which may arrive before the answer.
    onMutate: (changes) => valuesBefore(changes, box),
    onSuccess: (after, _, was) => {
      queries.setQueryData(boxQuery(box).queryKey, after)
      close()
      tell(`Updated ${project}/${name}.`, () => update.mutate(was), { of: [boxResource(box)] })
    },
  })
  return (
    <Form
      action="Save"
      isBusy={update.isPending}
      error={update.error}
      close={close}
      send={(form) => update.mutate(changesOfForm(form, { opened, now: box }))}
    >
      <SizeFields config={config} />
      <UseFields box={opened} />
      <LimitFields config={config} />
      <TagsField name="tags" tags={tags} />
    </Form>
  )
}

function SizeFields({ config }: { config: Box['config'] }) {
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <TextField
        label="CPU"
        name="cpus"
        type="number"
        min="0.01"
        step="any"
        required
        autoFocus
        defaultValue={config.cpus}
      />
      <TextField label="Memory in MiB" name="ram_mb" type="number" min="1" required defaultValue={config.ram_mb} />
      <TextField
        label="Disk in GiB"
        name="storage_gb"
        type="number"
        min="0.01"
        step="any"
        required
        defaultValue={config.storage_gb}
      />
    </div>
  )
}

/** Asks for environment, sleep and wake. */
function UseFields({ box: { environment, url_settings: url } }: { box: Box }) {
  const variables = editableVariables(environment)
  return (
    <>
      <TextAreaField
        label="Environment"
        name="env"
        apiNames={['environment']}
        placeholder="NAME=VALUE"
        defaultValue={variables.lines}
        hint={
          variables.fixed.length === 0
            ? 'One variable per line. New commands get it, and services when they restart.'
            : `One variable per line. Not shown, because they have several lines: ${variables.fixed.join(', ')}. They stay unchanged.`
        }
      />
      <SleepFields settings={url} />
    </>
  )
}
