import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import { ALL_PROJECTS } from './queries.ts'

/**
 * The cursor from which to follow events. Read before the pages, because the stream opens later and reports all changes after the cursor.
 * Null if it is unavailable, for example for a token that cannot read.
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
