import { ApiError } from '@boxyard/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { boxesQuery } from '../../api/queries.ts'
import type { Volume } from '../../api/records.ts'
import { refreshVolume } from '../../api/volume-queries.ts'
import { useRights } from '../../shell/rights.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { CheckField, SelectField, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { type Column, LongTable } from '../../ui/long-table.tsx'
import { Empty, Panel } from '../../ui/page.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { tell, tellError } from '../../ui/toasts.tsx'
import { volumeResource } from '../../ui/undo-end.ts'
import { BusyDialog } from './busy-dialog.tsx'

type Attachment = Volume['attachments'][number]

/** The boxes with a volume. Attaches it to others, and detaches it. */
export function Attachments({ volume }: { volume: Volume }) {
  const { attachments } = volume
  const { canWrite } = useRights()
  const { get, change } = useSearchState()
  const close = (): void => change({ dialog: '' })
  return (
    <Panel
      title="Attached to"
      actions={canWrite && <Button onClick={() => change({ dialog: 'attach' })}>Attach to box</Button>}
    >
      {attachments.length === 0 ? (
        <Empty title="Not attached">
          Attach it to a running or stopped box. One box can write to it, and any number can read it.
        </Empty>
      ) : (
        <AttachmentTable volume={volume} />
      )}
      <Dialog
        title={`Attach ${volume.name}`}
        about="A running box sees the volume at once."
        isOpen={get('dialog') === 'attach' && canWrite}
        close={close}
      >
        <AttachForm volume={volume} close={close} />
      </Dialog>
    </Panel>
  )
}

function AttachmentTable({ volume }: { volume: Volume }) {
  const { project, name, attachments } = volume
  const { canWrite } = useRights()
  const queries = useQueryClient()
  const [busy, setBusy] = useState<{ box: string; error: ApiError } | null>(null)
  const attach = useMutation({
    mutationFn: ({ box, path, read_only }: Attachment) =>
      api().call('attachVolume', { path: { project, name }, body: { box, path, read_only } }),
    onError: tellError,
    onSettled: () => refreshVolume(queries, volume),
  })
  const detach = useMutation({
    mutationFn: ({ box }: Attachment) =>
      api().call('detachVolume', { path: { project, name }, query: { wait_seconds: 1 }, body: { box } }),
    onSuccess: (_, attachment) => {
      setBusy(null)
      const of = [volumeResource(volume)]
      tell(`Detached ${name} from ${attachment.box}.`, () => attach.mutate(attachment), {
        of,
        done: ['data.attached'],
      })
    },
    onError: (error, { box }) => {
      if (error instanceof ApiError && error.code === 'volume_busy') setBusy({ box, error })
      else tellError(error)
    },
    onSettled: () => refreshVolume(queries, volume),
  })
  const actions: Column<Attachment> = {
    name: '',
    of: (attachment) => (
      <span className="flex justify-end">
        <Button
          aria-label={`Detach from ${attachment.box}`}
          disabled={detach.isPending}
          onClick={() => detach.mutate(attachment)}
        >
          {detach.isPending && detach.variables.box === attachment.box ? 'Detaching…' : 'Detach'}
        </Button>
      </span>
    ),
  }
  const again = attachments.find(({ box }) => box === busy?.box)
  return (
    <>
      <LongTable
        label="Attachments"
        grid={
          canWrite
            ? 'grid-cols-[1fr_1.5fr_6rem] md:grid-cols-[1fr_2fr_10rem_8rem]'
            : 'grid-cols-[1fr_2fr] md:grid-cols-[1fr_2fr_10rem]'
        }
        columns={[...columnsOf(project), ...(canWrite ? [actions] : [])]}
        items={attachments}
        keyOf={({ box }) => box}
      />
      <BusyDialog
        busy={busy}
        volume={volume}
        isTrying={detach.isPending}
        close={() => setBusy(null)}
        {...(again ? { retry: () => detach.mutate(again) } : {})}
      />
    </>
  )
}

function columnsOf(project: string): Column<Attachment>[] {
  return [
    {
      name: 'Box',
      of: ({ box, read_only: isReadOnly }) => (
        <>
          <Link
            to="/boxes/$project/$name"
            params={{ project, name: box }}
            className="font-medium break-all hover:underline"
          >
            {box}
          </Link>
          {isReadOnly && <span className="block text-xs text-muted md:hidden">read-only</span>}
        </>
      ),
    },
    { name: 'Path', of: ({ path }) => <code className="text-xs break-all">{path}</code> },
    { name: 'Access', from: 'md', of: ({ read_only: isReadOnly }) => (isReadOnly ? 'read-only' : 'read and write') },
  ]
}

function AttachForm({ volume, close }: { volume: Volume; close(): void }) {
  const { project, name, attachments } = volume
  const queries = useQueryClient()
  const { data: boxes = [], isSuccess } = useQuery(boxesQuery)
  const free = boxes.filter((box) => box.project === project && !attachments.some((each) => each.box === box.name))
  const isWritten = attachments.some((attachment) => !attachment.read_only)
  const attach = useMutation({
    mutationFn: (body: Attachment) => api().call('attachVolume', { path: { project, name }, body }),
    onSuccess: (_, { box, path }) => {
      close()
      tell(`Attached ${name} to ${box} at ${path}.`)
    },
    onSettled: () => refreshVolume(queries, volume),
  })
  if (isSuccess && free.length === 0) return <p>{project} has no other box. Create one first.</p>
  return (
    <Form
      action="Attach"
      isBusy={attach.isPending}
      error={attach.error}
      close={close}
      send={(form) =>
        attach.mutate({ box: form.text('box'), path: form.text('path'), read_only: form.has('read_only') })
      }
    >
      <SelectField label="Box" name="box" required autoFocus>
        {free.map((box) => (
          <option key={box.name} value={box.name}>
            {box.name} ({box.status})
          </option>
        ))}
      </SelectField>
      <TextField
        label="Path in the box"
        name="path"
        required
        pattern="/.+"
        spellCheck={false}
        defaultValue={`/mnt/${name}`}
        hint="Any path except / and those below /proc, /sys and /dev."
      />
      <CheckField
        label="Read-only"
        name="read_only"
        defaultChecked={isWritten}
        hint={
          isWritten
            ? 'Another box already writes to it, and only one can.'
            : 'One box can write to it. Any number can read it.'
        }
      />
    </Form>
  )
}
