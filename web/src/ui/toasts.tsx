import type { BoxyardEvent } from '@boxyard/sdk'
import { X } from 'lucide-react'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { createNotices, type Notice } from './notices.ts'
import { Problem } from './problem.tsx'
import { type UndoEnd } from './undo-end.ts'

const notices = createNotices()

/**
 * Tells what was done, for some seconds; `undo` takes it back, until an event tells that it can no longer be done. Left out, that is once
 * the box or volume is deleted whose page is open.
 */
export function tell(text: string, undo?: () => void, end: Partial<UndoEnd> = {}): void {
  const { of = [], done = [], ...rest } = end
  const until = undo && of.length > 0 ? { of, done, ...rest } : null
  notices.add({ text, error: null, undo, end: until }, undo ? 12_000 : 5_000)
}

/** Takes away what can no longer be undone after an event. */
export function endUndos(event: BoxyardEvent): void {
  const focused = document.activeElement
  const region = focused?.closest<HTMLElement>('[data-notices]')
  notices.take(event)
  // Whoever was at it stays at the notices.
  requestAnimationFrame(() => region && focused?.isConnected === false && region.focus())
}

/** Tells what failed. */
export function tellError(error: unknown): void {
  notices.add({ text: null, error, undo: undefined, end: null }, 15_000)
}

/** Shows what was told. F8 goes to the newest, and back from there; none goes while somebody is at one. */
export function Toasts() {
  const shown = useSyncExternalStore(notices.watch, notices.list)
  const region = useRef<HTMLDivElement>(null)
  const { take, leave } = useToastKey(region)
  useRoomBelow(region)
  const dismiss = (id: number): void => {
    // Of the last one the focus goes back to where it came from, else to the one beside it.
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

/** Gives the page as much room at its end as the notices take; a page that is at its end stays there, with what they would lie over in sight. */
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

/** As far as they are from the foot of the window, above as below. */
const NOTICES_MARGIN_PX = 32

/** Makes F8 go to the newest notice, and back to where the focus came from. */
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
      // Before a terminal takes the key, which is its own while nothing is told.
      event.preventDefault()
      event.stopImmediatePropagation()
      if (hasFocus(region.current)) leaving.current()
      else [...(region.current?.children ?? [])].at(-1)?.querySelector('button')?.focus()
    }
    window.addEventListener('keydown', onKey, { capture: true })
    return () => window.removeEventListener('keydown', onKey, { capture: true })
  }, [region])
  /** Notes where the focus was before it came to a notice. */
  const take = (was: Element | null): void => {
    if (was !== null && !region.current?.contains(was)) from.current = was
  }
  return { take, leave }
}

function hasFocus(element: HTMLElement | null): boolean {
  return element?.contains(document.activeElement) ?? false
}
