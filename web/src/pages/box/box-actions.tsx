import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { boxQuery } from '../../api/queries.ts'
import type { Box } from '../../api/records.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Menu } from '../../ui/menu.tsx'
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
      tell(`Stopped ${project}/${name}.`, () => change.mutate('resume'), end)
    },
    onError: tellError,
  })
  const remove = useMutation({
    mutationFn: () => handle.delete(),
    onSuccess: async () => {
      tell(`Deleted ${project}/${name}.`)
      await navigate({ to: '/boxes' })
    },
    onError: tellError,
  })
  return (
    <div className="flex flex-wrap gap-2">
      {status === 'stopped' ? (
        <Button disabled={change.isPending} onClick={() => change.mutate('resume')}>
          Start
        </Button>
      ) : (
        <Button disabled={change.isPending || status !== 'running'} onClick={() => change.mutate('stop')}>
          Stop
        </Button>
      )}
      <Menu
        label={`More actions for ${name}`}
        items={[
          { key: 'change', words: 'Settings', act: () => setDialog('change') },
          { key: 'fork', words: 'Fork', act: () => setDialog('fork') },
          { key: 'delete', words: 'Delete', isDanger: true, act: () => setDialog('delete') },
        ]}
      />
      <ChangeBox box={box} isOpen={dialog === 'change'} close={() => setDialog(null)} />
      <ForkDialog
        box={box}
        title={`Fork ${project}/${name}`}
        about="Creates a box with a copy of this disk. It takes milliseconds at any size."
        of={name}
        isOpen={dialog === 'fork'}
        close={() => setDialog(null)}
        fork={(target) => handle.fork(target)}
      />
      <Confirm
        title={`Delete ${project}/${name}?`}
        about="This permanently deletes its disk and snapshots. Attached data volumes stay."
        action="Delete"
        typed={name}
        isOpen={dialog === 'delete'}
        close={() => setDialog(null)}
        act={() => remove.mutate()}
      />
    </div>
  )
}
