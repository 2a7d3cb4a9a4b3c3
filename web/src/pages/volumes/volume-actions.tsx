import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import type { Volume } from '../../api/records.ts'
import { refreshVolume, volumeQuery } from '../../api/volume-queries.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { parseTags } from '../../ui/tags.ts'
import { TagsField } from '../../ui/tags-field.tsx'
import { tell, tellError } from '../../ui/toasts.tsx'
import { volumeResource } from '../../ui/undo-end.ts'

/** Changes size and tags of a volume, and deletes it. */
export function VolumeActions({ volume }: { volume: Volume }) {
  const { get, change } = useSearchState()
  const close = (): void => change({ dialog: '' })
  return (
    <>
      <Button onClick={() => change({ dialog: 'change' })}>Size and tags</Button>
      <Button kind="danger" onClick={() => change({ dialog: 'delete' })}>
        Delete
      </Button>
      <Dialog
        title={`Size and tags of ${volume.name}`}
        about="You can resize it while boxes use it. It cannot become smaller than its content."
        isOpen={get('dialog') === 'change'}
        close={close}
      >
        <ChangeForm volume={volume} close={close} />
      </Dialog>
      <DeleteVolume volume={volume} isOpen={get('dialog') === 'delete'} close={close} />
    </>
  )
}

function ChangeForm({ volume, close }: { volume: Volume; close(): void }) {
  const { project, name, size_gb: before } = volume
  const queries = useQueryClient()
  const update = useMutation({
    mutationFn: (body: { size_gb: number; tags: Record<string, string> }) =>
      api().call('updateVolume', { path: { project, name }, body }),
    // The value at this moment, because the displayed one changes with the event, which may arrive before the answer.
    onMutate: () => ({ size_gb: before, tags: volume.tags }),
    onSuccess: (after, _, was) => {
      queries.setQueryData(volumeQuery(volume).queryKey, after)
      void refreshVolume(queries, volume)
      const words =
        after.size_gb === was.size_gb
          ? `Updated ${project}/${name}.`
          : `Resized ${project}/${name} to ${after.size_gb} GiB.`
      close()
      tell(words, () => update.mutate(was), { of: [volumeResource(volume)] })
    },
  })
  return (
    <Form
      action="Save"
      isBusy={update.isPending}
      error={update.error}
      close={close}
      send={(form) => update.mutate({ size_gb: Number(form.text('size_gb')), tags: parseTags(form.text('tags')) })}
    >
      <TextField
        label="Size in GiB"
        name="size_gb"
        type="number"
        min="0.01"
        step="any"
        required
        autoFocus
        defaultValue={before}
      />
      <TagsField name="tags" tags={volume.tags} />
    </Form>
  )
}

function DeleteVolume({ volume, isOpen, close }: { volume: Volume; isOpen: boolean; close(): void }) {
  const { project, name, attachments } = volume
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => api().call('deleteVolume', { path: { project, name } }),
    onSuccess: async () => {
      tell(`Deleted volume ${project}/${name}.`)
      await navigate({ to: '/volumes' })
    },
    onError: tellError,
  })
  if (attachments.length > 0) {
    const boxes = attachments.map(({ box }) => box).join(', ')
    return (
      <Dialog title={`${project}/${name} is in use`} isOpen={isOpen} close={close}>
        <p>Detach it from {boxes} first.</p>
        <div className="dialog-buttons mt-4 flex justify-end">
          <Button onClick={close}>Close</Button>
        </div>
      </Dialog>
    )
  }
  return (
    <Confirm
      title={`Delete the volume ${project}/${name}?`}
      about="This permanently deletes its data and snapshots. Its backups stay, and you can restore them as a new volume."
      action="Delete"
      typed={name}
      isOpen={isOpen}
      close={close}
      act={() => remove.mutate()}
    />
  )
}
