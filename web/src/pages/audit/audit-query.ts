import { infiniteQueryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { auditFilterOf } from './audit-filter.ts'

/** The filtered audit log, newest first, a page at a time. */
export const auditQuery = (search: Readonly<Record<string, string>>) => {
  const filter = auditFilterOf(search)
  return infiniteQueryOptions({
    queryKey: ['audit', filter],
    queryFn: ({ pageParam: token, signal }) =>
      api().call('listAudit', {
        query: { ...filter, max_results: 200, ...(token === null ? {} : { continuation_token: token }) },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ has_more: hasMore, next_continuation_token: next }) => (hasMore ? next : null),
  })
}
