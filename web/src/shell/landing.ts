import type { AnyRouter } from '@tanstack/react-router'

/**
 * Focuses the heading of a new page, so that it is read out, and the next Tab continues from there. If the heading stays, focuses the
 * changed part of the page. Leaves the focus after a change of only the query, or if an element has taken the focus itself.
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

/** Returns the visible heading. The heading of the previous page is kept hidden while the next one loads. */
function headingOf(): HTMLElement | null {
  const headings = document.querySelectorAll<HTMLElement>('main h1:not([data-pending])')
  return [...headings].find((each) => each.getClientRects().length > 0) ?? null
}

function land(element: HTMLElement): void {
  if (!element.hasAttribute('tabindex')) element.tabIndex = -1
  // The router has restored the scroll position.
  element.focus({ preventScroll: true })
}

/** Calls `use` once `find` finds something, because a page may still be loading. Returns a function that ends the wait. */
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
