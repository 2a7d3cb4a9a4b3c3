import { api } from '../../api/client.ts'
import { openTab, openTabEarly } from '../../api/open-tab.ts'
import type { Box } from '../../api/records.ts'
import { tell, tellError } from '../../ui/toasts.tsx'

/**
 * Opens a URL of a box in a tab of its own. Call it during a click. A private URL opens by a ticket of this session. Without a ticket it
 * opens on the edge's sign-in page, which asks for a token.
 */
export async function openBoxUrl({ project, name, url_settings }: Box, url: string): Promise<void> {
  if (url_settings.auth === 'public') return openTab(url)
  const openIn = openTabEarly()
  const ticket = await api()
    .call('createUrlTicket', { path: { project, name }, body: { url } })
    .catch((error: unknown) => {
      tellError(error)
      return { url }
    })
  if (!openIn(ticket.url ?? url)) tell('The browser blocked the new tab. Allow pop-ups for this page.')
}
