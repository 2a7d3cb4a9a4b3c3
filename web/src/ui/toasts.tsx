import type { BoxyardEvent } from '@boxyard/sdk'
import { X } from 'lucide-react'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { createNotices, type Notice } from './notices.ts'
import { Problem } from './problem.tsx'
import { type UndoEnd } from './undo-end.ts'

const notices = createNotices()

/**
 * Reports what was done, for some seconds. `undo` reverts it, until an event reports that it can no longer be undone. By default, that is
 * the deletion of the box or volume whose page is open.
 */
export function tell(text: string, undo?: () => void, end: Partial<UndoEnd> = {}): void {
  const { of = [], done = [], ...rest } = end
  const until = undo && of.length > 0 ? { of, done, ...rest } : null
  notices.add({ text, error: null, undo, end: until }, undo ? 12_000 : 5_000)
}

/** Removes messages whose undo is no longer possible after an event. */
export function endUndos(event: BoxyardEvent): void {
  const focused = document.activeElement
  const region = focused?.closest<HTMLElement>('[data-notices]')
  notices.take(event)
  // Keeps the focus in the region if it was on this message.
  requestAnimationFrame(() => region && focused?.isConnected === false && region.focus())
}

/** Reports an error. */
export function tellError(error: unknown): void {
  notices.add({ text: null, error, undo: undefined, end: null }, 15_000)
}

/** Shows the messages. F8 moves to the newest, and back from there. None disappears while the user is at one. */
export function Toasts() {
  const shown = useSyncExternalStore(notices.watch, notices.list)
  const region = useRef<HTMLDivElement>(null)
  const { take, leave } = useToastKey(region)
  useRoomBelow(region)
  const dismiss = (id: number): void => {
    // After the last message the focus returns to where it came from, otherwise it moves to the one beside it.
    if (notices.list().length > 1) region.current?.focus()
    else leave()
    notices.dismiss(id)
  }
  return (
    <div
      ref={region}
      role="region"
      data-notices
      aria-label="Notices, F8"
      aria-live="polite"
      tabIndex={-1}
      className="fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2 rounded-md"
      onPointerEnter={() => notices.hold(true)}
      onPointerLeave={() => hasFocus(region.current) || notices.hold(false)}
      onFocus={({ relatedTarget }) => {
        take(relatedTarget)
        notices.hold(true)
      }}
      onBlur={({ relatedTarget, currentTarget }) => {
        if (relatedTarget === null || !currentTarget.contains(relatedTarget))
          notices.hold(currentTarget.matches(':hover'))
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') leave()
      }}
    >
      {shown.map((notice) => (
        <Toast key={notice.id} notice={notice} dismiss={() => dismiss(notice.id)} />
      ))}
    </div>
  )
}

function Toast({ notice: { text, error, undo }, dismiss }: { notice: Notice; dismiss(): void }) {
  const close = (
    <button type="button" aria-label="Dismiss" className="rounded p-1 hover:bg-raised" onClick={dismiss}>
      <X aria-hidden className="size-4" />
    </button>
  )
  if (text === null) {
    return (
      <Problem error={error} className="shadow-lg">
        {close}
      </Problem>
    )
  }
  return (
    <div className="flex items-center gap-2 rounded-md border border-line bg-panel p-3 shadow-lg">
      <span className="flex-1 break-words">{text}</span>
      {undo && (
        <button
          type="button"
          title="F8, Enter"
          className="font-medium text-accent underline"
          onClick={() => {
            dismiss()
            undo()
          }}
        >
          Undo
        </button>
      )}
      {close}
    </div>
  )
}

/**
 * Adds as much space to the end of the page as the messages take. A page that is scrolled to its end stays there, so that the messages
 * cover nothing.
 */
function useRoomBelow(region: React.RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const page = document.documentElement
    const measure = (): void => {
      const height = region.current?.childElementCount ? region.current.offsetHeight + NOTICES_MARGIN_PX : 0
      const isAtEnd = window.scrollY + window.innerHeight >= page.scrollHeight - 1
      page.style.setProperty('--notices', `${height}px`)
      if (isAtEnd && height > 0) window.scrollTo({ top: page.scrollHeight })
    }
    const observer = new ResizeObserver(measure)
    if (region.current) observer.observe(region.current)
    return () => {
      observer.disconnect()
      page.style.removeProperty('--notices')
    }
  }, [region])
}

/** The distance of the messages from the bottom of the window, used above as well. */
const NOTICES_MARGIN_PX = 32

/** Makes F8 move to the newest message, and back to where the focus came from. */
function useToastKey(region: React.RefObject<HTMLElement | null>) {
  const from = useRef<Element | null>(null)
  const leave = (): void => {
    if (!hasFocus(region.current)) return
    if (from.current instanceof HTMLElement && from.current.isConnected) from.current.focus()
    else if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
  }
  const leaving = useRef(leave)
  leaving.current = leave
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'F8' || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return
      if (notices.list().length === 0) return
      // Runs before a terminal takes the key, which belongs to the terminal while there is no message.
      event.preventDefault()
      event.stopImmediatePropagation()
      if (hasFocus(region.current)) leaving.current()
      else [...(region.current?.children ?? [])].at(-1)?.querySelector('button')?.focus()
    }
    window.addEventListener('keydown', onKey, { capture: true })
    return () => window.removeEventListener('keydown', onKey, { capture: true })
  }, [region])
  /** Notes where the focus was before it moved to a message. */
  const take = (was: Element | null): void => {
    if (was !== null && !region.current?.contains(was)) from.current = was
  }
  return { take, leave }
}

function hasFocus(element: HTMLElement | null): boolean {
  return element?.contains(document.activeElement) ?? false
}
