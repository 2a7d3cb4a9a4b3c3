import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { tellError } from './toasts.tsx'

/** Copies a text. Pages of plain HTTP have no clipboard of their own, so it selects and copies there. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (button: Element): Promise<void> => {
    if (!(await copyText(text, button)))
      return tellError(new Error('The browser refused to copy. Select the text and press Ctrl-C.'))
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className="rounded p-1 hover:bg-raised"
      onClick={(event) => void copy(event.currentTarget)}
    >
      {isCopied ? <Check aria-hidden className="size-4 text-good" /> : <Copy aria-hidden className="size-4" />}
      <span role="status" className="sr-only">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  )
}

/**
 * Puts a text into the clipboard, even if the page has no secure origin. It then uses a field beside `near`, because a dialog keeps the
 * focus in itself. Returns whether it was copied.
 */
export async function copyText(text: string, near: Element | undefined): Promise<boolean> {
  if (window.isSecureContext) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const focused = document.activeElement
  const area = document.createElement('textarea')
  area.value = text
  ;(near?.parentElement ?? document.body).append(area)
  area.select()
  // Deprecated, but the only way on a page of plain HTTP, as on a LAN.
  const old: { execCommand(command: 'copy'): boolean } = document
  const isCopied = old.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isCopied
}

/** A line to copy, such as a command. */
export function CodeLine({ text }: { text: string }) {
  return (
    <div className="flex items-start gap-2 rounded-md border border-line bg-raised p-2">
      <pre tabIndex={0} className="flex-1 overflow-x-auto font-mono text-xs leading-5">
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  )
}
