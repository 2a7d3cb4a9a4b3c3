import { webAddress } from './own-path.ts'

/** Opens an address in a tab that knows nothing of this page; all but HTTP and HTTPS stays closed. */
export function openTab(given: unknown): void {
  const address = webAddress(given)
  if (address !== null) window.open(address, '_blank', 'noopener,noreferrer')
}
