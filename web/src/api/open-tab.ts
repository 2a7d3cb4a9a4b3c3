import { webAddress } from './own-path.ts'

/** Opens an address in a tab that knows nothing of this page. Opens HTTP and HTTPS only. */
export function openTab(given: unknown): void {
  const address = webAddress(given)
  if (address !== null) window.open(address, '_blank', 'noopener,noreferrer')
}

/**
 * Opens an empty tab at once, for an address that is not known yet. Call it during a click: browsers block tabs that open later. The returned
 * function leads the tab to an HTTP or HTTPS address, and closes it for any other. It returns false if the browser blocked the tab.
 */
export function openTabEarly(): (given: unknown) => boolean {
  const tab = window.open('', '_blank')
  if (tab !== null) tab.opener = null
  return (given) => {
    const address = webAddress(given)
    if (address === null) tab?.close()
    else tab?.location.replace(address)
    return tab !== null
  }
}
