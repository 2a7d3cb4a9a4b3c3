import { isTicket } from './credential.ts'

let kept: string | null = null

/**
 * Removes a sign-in link from the address, so that neither the history nor the next page has it. Does not sign in. Anyone may have sent the
 * link, so the page asks first.
 */
export function takeLink(): void {
  if (!/^\/sign-in\/?$/i.test(location.pathname) || location.hash === '') return
  kept = location.hash.slice(1)
  history.replaceState(history.state, '', location.pathname + location.search)
}

/** Returns the ticket of the link that was removed and not dropped yet, or null. Returns `''` for an incomplete one. */
export function linkKept(): string | null {
  return kept === null || isTicket(kept) ? kept : ''
}

/** Forgets the link. */
export function dropLink(): void {
  kept = null
}
