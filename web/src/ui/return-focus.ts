import { useState } from 'react'

/** Returns what gives the focus back, once a dialog is closed, to what had it when the dialog was opened. */
export function useReturnFocus(isOpen: boolean): (event: Event) => void {
  const [wasOpen, setWasOpen] = useState(false)
  const [opener, setOpener] = useState<Element | null>(null)
  // Runs before the dialog is drawn, because one of its fields may take the focus.
  if (isOpen !== wasOpen) {
    setWasOpen(isOpen)
    if (isOpen) setOpener(document.activeElement)
  }
  return (event) => {
    event.preventDefault()
    if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true })
  }
}
