import { type Boxyard, createBoxyard } from '@boxyard/sdk'
import { sessionFetch } from './session.ts'

let client: Boxyard | null = null

/** Returns the client of this origin, in the name of the session. */
export function api(): Boxyard {
  client ??= createBoxyard({ url: location.origin, tickets: 'front', attempts: 3, fetch: sessionFetch })
  return client
}
