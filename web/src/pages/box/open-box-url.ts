import { api } from '../../api/client.ts'
import { openTab } from '../../api/open-tab.ts'
import type { Box } from '../../api/records.ts'
import { tellError } from '../../ui/toasts.tsx'

/**
 * Opens a URL of a box in a tab of its own. Call within five seconds of a click, which browsers require for a new tab. A private URL opens
 * by a ticket of this session. Without a ticket it opens on the edge's sign-in page, which asks for a token.
 */
export async function openBoxUrl({ project, name, url_settings }: Box, url: string): Promise<void> {
  if (url_settings.auth === 'public') return openTab(url)
  try {
    const ticket = await api().call('createUrlTicket', { path: { project, name }, body: { url } })
    openTab(ticket.url)
  } catch (error) {
    tellError(error)
    openTab(url)
  }
}
