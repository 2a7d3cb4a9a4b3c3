import { type Query, useQueryClient } from '@tanstack/react-query'
import { useCallback, useRef, useSyncExternalStore } from 'react'
import { mayHeal } from '../api/patience.ts'
import { Problem } from './problem.tsx'

/** Returns what an open form needs and could not be read; null: nothing is missing. */
export function useMissingRead(): Query | null {
  const cache = useQueryClient().getQueryCache()
  return useSyncExternalStore(
    useCallback((listener) => cache.subscribe(listener), [cache]),
    () => cache.getAll().find((query) => query.isActive() && isMissing(query)) ?? null,
  )
}

/** Says why fields of a form are empty, until they fill up. */
export function MissingRead({ query }: { query: Query }) {
  const last = useRef(query.state.error)
  last.current = query.state.error ?? last.current
  return <Problem error={last.current} retry={() => void query.fetch().catch(() => undefined)} />
}

/** It stays missing while it is read once more, when it has no error. */
function isMissing({ state: { data, error, errorUpdateCount } }: Query): boolean {
  return data === undefined && errorUpdateCount > 0 && (error === null || mayHeal(error))
}
