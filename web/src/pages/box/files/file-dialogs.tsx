import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import type { FileEntry, Ref } from '../../../api/records.ts'
import { Confirm } from '../../../ui/confirm.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { boxResource } from '../../../ui/undo-end.ts'
import { childOf, type FilePlace, nameOfPlace, parentOf, placeQuery } from './place.ts'
import { useFollowPlace } from './use-follow-place.ts'

interface NameDialogProps {
  title: string
  action: string
  start: string
  isOpen: boolean
  close(): void
  /** Performs the action. The dialog shows its error. */
  act(name: string): Promise<void>
}

/** Asks for the name of a file or directory. */
function NameDialog({ title, action, start, isOpen, close, act }: NameDialogProps) {
  const [name, setName] = useState(start)
  const run = useMutation({ mutationFn: act, onSuccess: close })
  return (
    <Dialog title={title} isOpen={isOpen} close={close}>
      <Form
        action={action}
        busy={action}
        isBusy={run.isPending}
        error={run.error}
        close={close}
        // Spaces at its ends are part of it.
        send={() => run.mutate(name)}
      >
        <TextField
          label="Name"
          name="name"
          apiNames={['to']}
          required
          autoComplete="off"
          spellCheck={false}
          pattern="[^\/]+"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Form>
    </Dialog>
  )
}

/** Creates a directory or an empty file in a directory. */
export function MakeEntry({
  box,
  place,
  what,
  close,
}: {
  box: Ref
  place: FilePlace
  what: 'directory' | 'file' | null
  close(): void
}) {
  const refresh = useFilesRefresh(box)
  const make = async (name: string): Promise<void> => {
    const query = placeQuery(childOf(place, { path: name, path_base64: null }))
    const path = { project: box.project, name: box.name }
    if (what === 'directory') await api().call('makeDirectory', { path, body: query })
    else await api().call('writeFile', { path, query, body: { content: '' }, headers: { 'if-none-match': '*' } })
    await refresh()
  }
  return (
    <NameDialog
      key={what}
      title={`New ${what} in ${place.text}`}
      action="Create"
      start=""
      isOpen={what !== null}
      close={close}
      act={make}
    />
  )
}

/** Renames an entry of a directory. Undo renames it back. A page that shows the entry follows. */
export function RenameEntry({ box, place, close }: { box: Ref; place: FilePlace | null; close(): void }) {
  const refresh = useFilesRefresh(box)
  const follow = useFollowPlace(box)
  const move = async (from: FilePlace, to: FilePlace): Promise<void> => {
    const path = { project: box.project, name: box.name }
    await api().call('moveFile', { path, body: { ...fieldsOf('from', from), ...fieldsOf('to', to) } })
    follow(from, to)
    await refresh()
  }
  const rename = async (name: string): Promise<void> => {
    if (place === null) return
    const to = childOf(parentOf(place), { path: name, path_base64: null })
    await move(place, to)
    tell(`Renamed ${nameOfPlace(place)} to ${name}.`, () => void move(to, place).catch(tellError), {
      of: [boxResource(box)],
    })
  }
  return (
    <NameDialog
      key={place?.text}
      title={`Rename ${place?.text ?? ''}`}
      action="Rename"
      start={place === null ? '' : nameOfPlace(place)}
      isOpen={place !== null}
      close={close}
      act={rename}
    />
  )
}

interface DeleteEntryProps {
  box: Ref
  place: FilePlace | null
  type: FileEntry['type']
  close(): void
}

/** Confirms and deletes an entry, including everything in a directory. A page that shows the entry moves to its parent. */
export function DeleteEntry({ box, place, type, close }: DeleteEntryProps) {
  const refresh = useFilesRefresh(box)
  const follow = useFollowPlace(box)
  const remove = useMutation({
    mutationFn: (which: FilePlace) =>
      api().call('deleteFile', {
        path: { project: box.project, name: box.name },
        query: { ...placeQuery(which), recursive: type === 'directory' },
      }),
    onSuccess: async (_, which) => {
      tell(`Deleted ${which.text}.`)
      follow(which, parentOf(which))
      await refresh()
    },
    onError: tellError,
  })
  return (
    <Confirm
      title={`Delete ${place?.text ?? ''}?`}
      about={`${type === 'directory' ? 'This deletes the directory with everything in it. ' : ''}You can restore it only from a snapshot.`}
      action="Delete"
      isOpen={place !== null}
      close={close}
      act={() => place !== null && remove.mutate(place)}
    />
  )
}

/** Returns a function that reloads the files on screen. */
export function useFilesRefresh({ project, name }: Ref): () => Promise<void> {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: ['files', project, name] })
}

function fieldsOf<Side extends 'from' | 'to'>(side: Side, { text, base64 }: FilePlace): Record<string, string> {
  return base64 === null ? { [side]: text } : { [`${side}_base64`]: base64 }
}
