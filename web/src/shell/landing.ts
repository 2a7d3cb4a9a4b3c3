import type { AnyRouter } from '@tanstack/react-router'

/**
 * Brings the focus to the heading of a page that has been gone to, so that it is read out, and the next Tab goes on from there: to the part
 * of the page where its heading stays. A change of the query alone, or what has taken the focus by itself, leaves it where it is.
 */
export function landOnPages(router: AnyRouter): void {
  let before: { focused: Element | null; heading: Element | null } = { focused: null, heading: null }
  let stopWaiting = (): void => undefined
  router.subscribe('onBeforeNavigate', () => {
    stopWaiting()
    before = { focused: document.activeElement, heading: headingOf() }
  })
  router.subscribe('onRendered', ({ fromLocation, toLocation }) => {
    if (fromLocation === undefined || fromLocation.pathname === toLocation.pathname) return
    const { focused, heading } = before
    stopWaiting = onceThere(headingOf, (found) => {
      const active = document.activeElement
      const isTaken = active !== focused && active !== document.body && active?.closest('main, [role=dialog]')
      if (!isTaken) land(found === heading ? (document.querySelector<HTMLElement>('main [data-part]') ?? found) : found)
    })
  })
}

/** Returns the heading in sight: that of a page that is being left is kept, hidden, while the next one reads what it shows. */
function headingOf(): HTMLElement | null {
  const headings = document.querySelectorAll<HTMLElement>('main h1:not([data-pending])')
  return [...headings].find((each) => each.getClientRects().length > 0) ?? null
}

function land(element: HTMLElement): void {
  if (!element.hasAttribute('tabindex')) element.tabIndex = -1
  // Where the page is scrolled to, the router has restored.
  element.focus({ preventScroll: true })
}

/** Calls `use` once `find` finds something: a page may still read what it shows. Returns what ends the wait. */
function onceThere(find: () => HTMLElement | null, use: (found: HTMLElement) => void): () => void {
  const found = find()
  if (found) {
    use(found)
    return () => undefined
  }
  const observer = new MutationObserver(() => {
    const later = find()
    if (!later) return
    observer.disconnect()
    use(later)
  })
  observer.observe(document.body, { childList: true, subtree: true })
  return () => observer.disconnect()
}
