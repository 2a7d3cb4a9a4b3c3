import { type Query, useQueryClient } from '@tanstack/react-query'
import { createContext, useCallback, useRef, useState, useSyncExternalStore } from 'react'
import { missingRead, readsBehind } from '../api/missing-reads.ts'
import { Problem } from './problem.tsx'

/** What the form around could not read; null: nothing is missing. */
export const MissingReadOfForm = createContext<Query | null>(null)

/** Returns what a form needs that is mounted now and could not be read, of whatever the page behind it reads; null: nothing is missing. */
export function useMissingRead(): Query | null {
  const cache = useQueryClient().getQueryCache()
  const [behind] = useState(() => readsBehind(cache))
  return useSyncExternalStore(
    useCallback((listener) => cache.subscribe(listener), [cache]),
    () => missingRead(cache, behind),
  )
}

/** Says why fields of a form are empty, until they fill up. */
export function MissingRead({ query }: { query: Query }) {
  const last = useRef(query.state.error)
  last.current = query.state.error ?? last.current
  return <Problem error={last.current} retry={() => void query.fetch().catch(() => undefined)} />
}
