import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Ref } from '../../api/records.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { tell } from '../../ui/toasts.tsx'

interface ForkDialogProps {
  box: Ref
  title: string
  about: string
  /** What the new box is called unless another name is given. */
  suggested: string
  /** What the new box is a fork of, in words. */
  of: string
  isOpen: boolean
  close(): void
  fork(name: string): Promise<unknown>
}

/** Asks for the name of a fork, makes it, and goes to its page. */
export function ForkDialog({ box: { project }, title, about, suggested, of, isOpen, close, fork }: ForkDialogProps) {
  const navigate = useNavigate()
  const make = useMutation({
    mutationFn: fork,
    onSuccess: async (_, name) => {
      close()
      tell(`${project}/${name} is a fork of ${of}.`)
      await navigate({ to: '/boxes/$project/$name', params: { project, name } })
    },
  })
  return (
    <Dialog title={title} about={about} isOpen={isOpen} close={close}>
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
          required
          autoComplete="off"
          spellCheck={false}
          defaultValue={suggested}
        />
      </Form>
    </Dialog>
  )
}
