import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { boxesQuery } from '../../api/queries.ts'
import type { Ref } from '../../api/records.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { endedName, numberedName } from '../../ui/free-name.ts'
import { NAME_PATTERN } from '../../ui/refusal-words.ts'
import { tell } from '../../ui/toasts.tsx'

interface ForkDialogProps {
  box: Ref
  title: string
  about: string
  /** Suffix of the suggested name after the name of the box. Default: the next free number. */
  ending?: string
  /** The source of the fork, in words. */
  of: string
  isOpen: boolean
  close(): void
  fork(name: string): Promise<unknown>
}

type ForkFormProps = Omit<ForkDialogProps, 'title' | 'about' | 'isOpen'>

/** Asks for the name of a fork, creates it, and opens its page. */
export function ForkDialog({ title, about, isOpen, close, ...forking }: ForkDialogProps) {
  return (
    <Dialog title={title} about={about} isOpen={isOpen} close={close}>
      <ForkForm close={close} {...forking} />
    </Dialog>
  )
}

function ForkForm({ box: { project, name }, ending, of, close, fork }: ForkFormProps) {
  const { data: boxes = [] } = useQuery(boxesQuery)
  const taken = boxes.filter((box) => box.project === project).map((box) => box.name)
  const suggested = ending === undefined ? numberedName(name, taken) : endedName(name, ending, taken)
  // The boxes may load after the dialog. Until then the name is the best guess, and the typed text stays.
  const [typed, setTyped] = useState<string | null>(null)
  const navigate = useNavigate()
  const make = useMutation({
    mutationFn: fork,
    onSuccess: async (_, name) => {
      close()
      tell(`Forked ${of} to ${project}/${name}.`)
      await navigate({ to: '/boxes/$project/$name', params: { project, name } })
    },
  })
  return (
    <Form
      action="Fork"
      isBusy={make.isPending}
      error={make.error}
      close={close}
      send={(form) => make.mutate(form.text('name'))}
    >
      <TextField
        label="Name of the new box"
        name="name"
        apiNames={['target']}
        required
        autoComplete="off"
        spellCheck={false}
        pattern={NAME_PATTERN}
        value={typed ?? suggested}
        onChange={(event) => setTyped(event.target.value)}
      />
    </Form>
  )
}
