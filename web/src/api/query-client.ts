import { type Query, QueryCache, QueryClient } from '@tanstack/react-query'
import { mayHeal } from './patience.ts'

/** Creates the store of data that pages have read. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onError: healLater }),
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        retry: false,
        refetchOnWindowFocus: false,
        refetchOnReconnect: true,
        // Also without a network, because the service may be on this machine.
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  })
}

/** Repeats a failed read once, after a pause, if its result is shown. A dialog that opened while the service was away thus fills up. */
function healLater(error: Error, query: Query<unknown, unknown, unknown>): void {
  if (!mayHeal(error)) return
  setTimeout(() => {
    if (query.isActive() && query.state.status === 'error') void query.fetch().catch(() => undefined)
  }, HEAL_MS)
}

const HEAL_MS = 3_000
