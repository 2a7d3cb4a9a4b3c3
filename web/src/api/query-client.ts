import { QueryClient } from '@tanstack/react-query'

/** Creates the store of what pages have read. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
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
