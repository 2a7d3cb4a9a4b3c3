import { type Query, QueryCache, QueryClient } from '@tanstack/react-query'
import { mayHeal } from './patience.ts'

/** Creates the store of what pages have read. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onError: healLater }),
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        retry: false,
        refetchOnWindowFocus: false,
        refetchOnReconnect: true,
        // Also without a network: the service may be on this machine.
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  })
}

/** Reads once more, after a pause, what is shown and could not be read: a dialog that opened while the service was away fills up. */
function healLater(error: Error, query: Query<unknown, unknown, unknown>): void {
  if (!mayHeal(error)) return
  setTimeout(() => {
    if (query.isActive() && query.state.status === 'error') void query.fetch().catch(() => undefined)
  }, HEAL_MS)
}

const HEAL_MS = 3_000
