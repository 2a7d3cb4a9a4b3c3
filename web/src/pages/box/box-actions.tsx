import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { boxQuery } from '../../api/queries.ts'
import type { Box } from '../../api/records.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { tell, tellError } from '../../ui/toasts.tsx'
import { boxResource } from '../../ui/undo-end.ts'
import { ChangeBox } from './change-box.tsx'
import { ForkDialog } from './fork-dialog.tsx'

/** Stops, resumes, changes, forks and deletes a box. */
export function BoxActions({ box }: { box: Box }) {
  const { project, name, status } = box
  const [dialog, setDialog] = useState<'change' | 'fork' | 'delete' | null>(null)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const handle = api().box(project, name)
  const change = useMutation({
    mutationFn: (what: 'stop' | 'resume') => (what === 'stop' ? handle.stop() : handle.resume()),
    onSuccess: (after, what) => {
      queries.setQueryData(boxQuery(box).queryKey, after)
      if (what === 'resume') return
      const end = { of: [boxResource(box)], done: ['box.resume_requested'], since: after.state.since }
      tell(`${project}/${name} is stopped.`, () => change.mutate('resume'), end)
    },
    onError: tellError,
  })
  const remove = useMutation({
    mutationFn: () => handle.delete(),
    onSuccess: async () => {
      tell(`${project}/${name} is deleted.`)
      await navigate({ to: '/boxes' })
    },
    onError: tellError,
  })
  return (
    <div className="flex flex-wrap gap-2">
      {status === 'stopped' ? (
        <Button disabled={change.isPending} onClick={() => change.mutate('resume')}>
          Resume
        </Button>
      ) : (
        <Button disabled={change.isPending || status !== 'running'} onClick={() => change.mutate('stop')}>
          Stop
        </Button>
      )}
      <Button onClick={() => setDialog('change')}>Size and tags</Button>
      <Button onClick={() => setDialog('fork')}>Fork</Button>
      <Button kind="danger" disabled={remove.isPending} onClick={() => setDialog('delete')}>
        Delete
      </Button>
      <ChangeBox box={box} isOpen={dialog === 'change'} close={() => setDialog(null)} />
      <ForkDialog
        box={box}
        title={`Fork ${project}/${name}`}
        about="Another box with the disk of this one as it is now, in milliseconds at any size."
        of={name}
        isOpen={dialog === 'fork'}
        close={() => setDialog(null)}
        fork={(target) => handle.fork(target)}
      />
      <Confirm
        title={`Delete ${project}/${name}?`}
        about="Its disk and its snapshots are gone for good. Data volumes that are attached to it stay."
        action="Delete"
        typed={name}
        isOpen={dialog === 'delete'}
        close={() => setDialog(null)}
        act={() => remove.mutate()}
      />
    </div>
  )
}
