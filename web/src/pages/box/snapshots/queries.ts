import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import type { BoxSnapshot, Ref } from '../../../api/records.ts'

/** Name of the current state of a box in a diff. */
export const LIVE = 'live'

/** A snapshot with its sizes, which the service counts for it. */
export const snapshotQuery = ({ project, name }: Ref, snapshot: string) =>
  queryOptions({
    queryKey: ['box-snapshots', project, name, snapshot],
    queryFn: ({ signal }) => api().call('getBoxSnapshot', { path: { project, name, snapshot }, signal }),
    staleTime: 60_000,
  })

/** Changes between two snapshots, or until now, in pages of 1,000. */
export const diffQuery = ({ project, name }: Ref, from: string, to: string) =>
  infiniteQueryOptions({
    queryKey: ['box-diff', project, name, from, to],
    queryFn: ({ pageParam, signal }) => {
      const query = { to, max_results: 1000, ...(pageParam === null ? {} : { continuation_token: pageParam }) }
      return api().call('diffBoxSnapshot', { path: { project, name, snapshot: from }, query, signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ has_more: hasMore, next_continuation_token: next }) => (hasMore ? next : null),
    staleTime: 0,
  })

/** Returns snapshots, the newest first. */
export function newestFirst(snapshots: readonly BoxSnapshot[]): BoxSnapshot[] {
  return snapshots.toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))
}
