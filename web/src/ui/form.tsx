import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { FaultForm, FaultRest } from './fault-form.tsx'
import { MissingRead, MissingReadOfForm, useMissingRead } from './missing-reads.tsx'

interface FormProps {
  /** The word of the button, such as `Create`. */
  action: string
  /** What it says while it is busy; left out: its word with three dots. */
  busy?: string
  /** Whether that takes something away. */
  isDanger?: boolean
  isBusy?: boolean
  /** What the last try failed with; null: nothing. */
  error?: unknown
  isReady?: boolean
  close(): void
  send(form: FormValues): void
  children: ReactNode
}

/** The form of a dialog, which shows what it failed with and can be sent again. */
export function Form({ action, close, send, children, ...state }: FormProps) {
  const { isDanger = false, isBusy = false, busy = `${action}…`, error = null, isReady = true } = state
  const missing = useMissingRead()
  return (
    <FaultForm
      error={error}
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        const form = new FormData(event.currentTarget)
        const text = (name: string): string => {
          const value = form.get(name)
          return typeof value === 'string' ? value.trim() : ''
        }
        const file = (name: string): File | null => {
          const value = form.get(name)
          return value instanceof File && value.name !== '' ? value : null
        }
        send({ text, file, has: (name) => form.has(name), all: form })
      }}
    >
      <MissingReadOfForm value={missing}>{children}</MissingReadOfForm>
      <FaultRest />
      {missing && <MissingRead query={missing} />}
      <div className="flex justify-end gap-2">
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" kind={isDanger ? 'danger' : 'primary'} disabled={isBusy || !isReady || missing !== null}>
          {isBusy ? busy : action}
        </Button>
      </div>
    </FaultForm>
  )
}

/** What the fields of a form hold, by their names. */
export interface FormValues {
  text(name: string): string
  /** The file that is chosen in a field. */
  file(name: string): File | null
  /** Whether a box is ticked. */
  has(name: string): boolean
  /** All of them, as they are. */
  all: FormData
}
