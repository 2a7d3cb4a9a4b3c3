import type { Query, QueryCache } from '@tanstack/react-query'
import { mayHeal } from './patience.ts'

/** What the page behind a form reads: each query with how many read it. */
export type ReadsBehind = ReadonlyMap<string, number>

/** Returns what is being read, before a form reads something. */
export function readsBehind(cache: QueryCache): ReadsBehind {
  return new Map(cache.getAll().map((query) => [query.queryHash, query.getObserversCount()]))
}

/** Returns what a form reads, the page behind it not alone, and could not be read; null: nothing is missing. */
export function missingRead(cache: QueryCache, behind: ReadsBehind): Query | null {
  const isOfForm = (query: Query): boolean => query.getObserversCount() > (behind.get(query.queryHash) ?? 0)
  return cache.getAll().find((query) => query.isActive() && isOfForm(query) && isMissing(query)) ?? null
}

/** It stays missing while it is read once more, when it has no error. */
function isMissing({ state: { data, error, errorUpdateCount } }: Query): boolean {
  return data === undefined && errorUpdateCount > 0 && (error === null || mayHeal(error))
}
