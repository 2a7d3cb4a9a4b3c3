import { isTicket } from './credential.ts'

let kept: string | null = null

/**
 * Takes a sign-in link out of the address, so that neither the history nor a page that is gone to has it. It does nothing by itself: who
 * has sent it may be anybody, so that the page asks first.
 */
export function takeLink(): void {
  if (!/^\/sign-in\/?$/i.test(location.pathname) || location.hash === '') return
  kept = location.hash.slice(1)
  history.replaceState(history.state, '', location.pathname + location.search)
}

/** Returns the ticket of the link that was taken and not dropped yet; null: none. One that is not whole is `''`. */
export function linkKept(): string | null {
  return kept === null || isTicket(kept) ? kept : ''
}

/** Forgets the link. */
export function dropLink(): void {
  kept = null
}
