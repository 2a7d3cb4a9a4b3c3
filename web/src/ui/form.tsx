import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { FaultForm, FaultRest } from './fault-form.tsx'
import { MissingRead, MissingReadOfForm, useMissingRead } from './missing-reads.tsx'

interface FormProps {
  /** The label of the button, such as `Create`. */
  action: string
  /** Text while it is busy. Default: its label with three dots. */
  busy?: string
  /** Label of a second submit button, such as `Create` beside `Create and open terminal`. Enter presses it. */
  alternative?: string
  /** Whether it is destructive. */
  isDanger?: boolean
  isBusy?: boolean
  /** The error of the last attempt, or null. */
  error?: unknown
  isReady?: boolean
  close(): void
  send(form: FormValues): void
  children: ReactNode
}

/** The form of a dialog. It shows the error of a failed attempt, and can be sent again. */
export function Form({ action, alternative, close, send, children, ...state }: FormProps) {
  const { isDanger = false, isBusy = false, busy = `${action}…`, error = null, isReady = true } = state
  const missing = useMissingRead()
  const isDisabled = isBusy || !isReady || missing !== null
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
        const isAlternative = buttonOf(event.nativeEvent) === ALTERNATIVE
        send({ text, file, has: (name) => form.has(name), all: form, isAlternative })
      }}
      onKeyDown={({ key, ctrlKey, metaKey, currentTarget }) => {
        if (key !== 'Enter' || !(ctrlKey || metaKey)) return
        const main = currentTarget.querySelector<HTMLButtonElement>('[data-main]')
        if (main?.disabled === false) currentTarget.requestSubmit(main)
      }}
    >
      <MissingReadOfForm value={missing}>{children}</MissingReadOfForm>
      <FaultRest />
      {missing && <MissingRead query={missing} />}
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={close}>Cancel</Button>
        {alternative !== undefined && (
          <Button type="submit" value={ALTERNATIVE} disabled={isDisabled}>
            {alternative}
          </Button>
        )}
        <Button
          type="submit"
          data-main
          kind={isDanger ? 'danger' : 'primary'}
          title={alternative === undefined ? undefined : 'Ctrl-Enter'}
          disabled={isDisabled}
        >
          {isBusy ? busy : action}
        </Button>
      </div>
    </FaultForm>
  )
}

/** The values of a form, by name. */
export interface FormValues {
  text(name: string): string
  /** The chosen file of a field. */
  file(name: string): File | null
  /** Whether a box is ticked. */
  has(name: string): boolean
  /** All values, unchanged. */
  all: FormData
  /** Whether the second button sent the form. */
  isAlternative: boolean
}

/** Returns the value of the button that sent a form. */
function buttonOf(event: Event): string {
  const button = event instanceof SubmitEvent ? event.submitter : null
  return button instanceof HTMLButtonElement ? button.value : ''
}

const ALTERNATIVE = 'alternative'
