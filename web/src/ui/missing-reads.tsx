import { type Query, useQueryClient } from '@tanstack/react-query'
import { createContext, useCallback, useRef, useState, useSyncExternalStore } from 'react'
import { missingRead, readsBehind } from '../api/missing-reads.ts'
import { Problem } from './problem.tsx'

/** The failed read of the surrounding form, or null. */
export const MissingReadOfForm = createContext<Query | null>(null)

/** Returns a failed read that the form being mounted needs, even if the page behind it reads the same. Null if there is none. */
export function useMissingRead(): Query | null {
  const cache = useQueryClient().getQueryCache()
  const [behind] = useState(() => readsBehind(cache))
  return useSyncExternalStore(
    useCallback((listener) => cache.subscribe(listener), [cache]),
    () => missingRead(cache, behind),
  )
}

/** Explains why fields of a form are empty, until they fill up. */
export function MissingRead({ query }: { query: Query }) {
  const last = useRef(query.state.error)
  last.current = query.state.error ?? last.current
  return <Problem error={last.current} retry={() => void query.fetch().catch(() => undefined)} />
}
