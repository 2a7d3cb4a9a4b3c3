import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import { ALL_PROJECTS } from './queries.ts'

/**
 * Where to go on with the events: begun at the moment before pages read, since what changes after that is told by the stream, which opens
 * later. Null where it cannot be had, such as for a token that may not read.
 */
export const liveCursorQuery = queryOptions({
  queryKey: ['live-cursor'],
  queryFn: async ({ signal }) => {
    const input = { path: { project: ALL_PROJECTS }, query: { since: 'now', max_results: 1 }, signal }
    const page = await api()
      .call('listEvents', input)
      .catch(() => null)
    return page && page.next_cursor
  },
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: Number.POSITIVE_INFINITY,
})
