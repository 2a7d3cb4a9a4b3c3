import { type Boxyard, createBoxyard } from '@boxyard/sdk'
import { sessionFetch } from './session.ts'

let client: Boxyard | null = null

// Tests also have a page, but not its types.
const page = globalThis as unknown as { location: { origin: string } }

/** Returns the client of this origin, in the name of the session. */
export function api(): Boxyard {
  client ??= createBoxyard({ url: page.location.origin, tickets: 'front', attempts: 3, fetch: sessionFetch })
  return client
}
