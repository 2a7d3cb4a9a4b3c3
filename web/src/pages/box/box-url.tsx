import type { MouseEvent, ReactNode } from 'react'
import { webAddress } from '../../api/own-path.ts'
import type { Box } from '../../api/records.ts'
import { openBoxUrl } from './open-box-url.ts'

interface BoxUrlProps {
  box: Box
  url: string
  className?: string
  /** Names the link if it shows no text. */
  label?: string
  children: ReactNode
}

/** A link to a URL of a box. One click opens a private one as well. With Ctrl, Cmd or Shift the browser opens the bare address. */
export function BoxUrl({ box, url, className = 'underline', label, children }: BoxUrlProps) {
  const address = webAddress(url)
  if (address === null) return <span className="break-all">{children}</span>
  const open = (event: MouseEvent): void => {
    const isOther = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey
    if (isOther || box.url_settings.auth === 'public') return
    event.preventDefault()
    void openBoxUrl(box, address)
  }
  return (
    <a
      href={address}
      target="_blank"
      rel="noreferrer"
      aria-label={label}
      title={label}
      className={className}
      onClick={open}
    >
      {children}
    </a>
  )
}
