import { type ReactNode, useEffect, useRef } from 'react'
import { Button } from './button.tsx'
import { focusLate } from './first-focus.ts'
import { Problem } from './problem.tsx'

interface FormProps {
  /** The word of the button, such as `Create`. */
  action: string
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
  const { isDanger = false, isBusy = false, error = null, isReady = true } = state
  const element = useRef<HTMLFormElement>(null)
  useEffect(() => focusLate(element.current), [])
  return (
    <form
      ref={element}
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
        send({ text, file, has: (name) => form.has(name) })
      }}
    >
      {children}
      {error !== null && <Problem error={error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" kind={isDanger ? 'danger' : 'primary'} disabled={isBusy || !isReady}>
          {isBusy ? `${action}…` : action}
        </Button>
      </div>
    </form>
  )
}

/** What the fields of a form hold, by their names. */
export interface FormValues {
  text(name: string): string
  /** The file that is chosen in a field. */
  file(name: string): File | null
  /** Whether a box is ticked. */
  has(name: string): boolean
}
