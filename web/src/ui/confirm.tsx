import { useState } from 'react'
import { Dialog } from './dialog.tsx'
import { TextField } from './field.tsx'
import { Form } from './form.tsx'

interface ConfirmProps {
  title: string
  /** Describes what will be deleted. */
  about: string
  /** The label of the button, such as `Delete`. */
  action: string
  /** Text to type for an action that cannot be undone. Absent for no text. */
  typed?: string | undefined
  isOpen: boolean
  close(): void
  act(): void
}

/** Asks before a destructive action. */
export function Confirm({ title, about, action, typed, isOpen, close, act }: ConfirmProps) {
  const [text, setText] = useState('')
  const isTyped = typed === undefined || text === typed
  const leave = (): void => {
    setText('')
    close()
  }
  return (
    <Dialog title={title} about={about} isOpen={isOpen} close={leave}>
      <Form
        action={action}
        isDanger
        isReady={isTyped}
        close={leave}
        send={() => {
          leave()
          act()
        }}
      >
        {typed !== undefined && (
          <TextField
            label={`Type ${typed} to confirm`}
            value={text}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Form>
    </Dialog>
  )
}
