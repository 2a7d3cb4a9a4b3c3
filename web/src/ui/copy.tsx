import { Check, Copy } from 'lucide-react'
import { useState } from 'react'

/** Copies a text. Pages of plain HTTP have no clipboard of their own, so it selects and copies there. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await copyText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className="rounded p-1 hover:bg-raised"
      onClick={() => void copy()}
    >
      {isCopied ? <Check aria-hidden className="size-4 text-good" /> : <Copy aria-hidden className="size-4" />}
      <span role="status" className="sr-only">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  )
}

/** Puts a text into the clipboard, also where the page is not of a secure origin. */
export async function copyText(text: string): Promise<void> {
  if (window.isSecureContext) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  // Deprecated, and the only way on a page of plain HTTP, which a LAN is.
  const old: { execCommand(command: 'copy'): boolean } = document
  old.execCommand('copy')
  area.remove()
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
