import { useState } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { TextField } from './field.tsx'

interface ConfirmProps {
  title: string
  /** What will be gone. */
  about: string
  /** The word of the button, such as `Delete`. */
  action: string
  /** What has to be typed where it cannot be taken back; left out: nothing. */
  typed?: string | undefined
  isOpen: boolean
  close(): void
  act(): void
}

/** Asks before something is taken away. */
export function Confirm({ title, about, action, typed, isOpen, close, act }: ConfirmProps) {
  const [text, setText] = useState('')
  const isTyped = typed === undefined || text === typed
  const leave = (): void => {
    setText('')
    close()
  }
  return (
    <Dialog title={title} about={about} isOpen={isOpen} close={leave}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isTyped) return
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
        <div className="flex justify-end gap-2">
          <Button onClick={leave}>Cancel</Button>
          <Button type="submit" kind="danger" disabled={!isTyped}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
