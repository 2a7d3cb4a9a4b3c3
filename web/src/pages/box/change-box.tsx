import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { boxQuery } from '../../api/queries.ts'
import type { Box } from '../../api/records.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { parseTags } from '../../ui/tags.ts'
import { TagsField } from '../../ui/tags-field.tsx'
import { tell } from '../../ui/toasts.tsx'
import { boxResource } from '../../ui/undo-end.ts'

/** Changes size and tags of a box, which runs on. */
export function ChangeBox({ box, isOpen, close }: { box: Box; isOpen: boolean; close(): void }) {
  return (
    <Dialog
      title={`Size and tags of ${box.project}/${box.name}`}
      about="Changes apply while the box runs. The disk cannot become smaller than its content."
      isOpen={isOpen}
      close={close}
    >
      <ChangeForm box={box} close={close} />
    </Dialog>
  )
}

function ChangeForm({ box, close }: { box: Box; close(): void }) {
  const { project, name, config, tags } = box
  const queries = useQueryClient()
  const before = { config: sizeOf(config), tags }
  const update = useMutation({
    mutationFn: (body: typeof before) => api().call('updateBox', { path: { project, name }, body }),
    // Of the moment: what is shown changes by the event, which may come before the answer.
    onMutate: () => before,
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
      send={(form) => update.mutate({ config: readSize(form), tags: parseTags(form.text('tags')) })}
    >
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
      <TagsField name="tags" tags={tags} />
    </Form>
  )
}

function readSize(form: FormValues): ReturnType<typeof sizeOf> {
  const number = (name: string): number => Number(form.text(name))
  return { cpus: number('cpus'), ram_mb: number('ram_mb'), storage_gb: number('storage_gb') }
}

function sizeOf({ cpus, ram_mb, storage_gb }: Box['config']) {
  return { cpus, ram_mb, storage_gb }
}
