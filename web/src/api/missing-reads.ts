import type { Query, QueryCache } from '@tanstack/react-query'
import { mayHeal } from './patience.ts'

/** Queries of the page behind a form, each with its number of readers. */
export type ReadsBehind = ReadonlyMap<string, number>

/** Returns the current readers, before a form reads something. */
export function readsBehind(cache: QueryCache): ReadsBehind {
  return new Map(cache.getAll().map((query) => [query.queryHash, query.getObserversCount()]))
}

/** Returns a query that the form reads, not only the page behind it, and that failed. Returns null if there is none. */
export function missingRead(cache: QueryCache, behind: ReadsBehind): Query | null {
  const isOfForm = (query: Query): boolean => query.getObserversCount() > (behind.get(query.queryHash) ?? 0)
  return cache.getAll().find((query) => query.isActive() && isOfForm(query) && isMissing(query)) ?? null
}

/** It stays missing during a second read, when it has no error. */
function isMissing({ state: { data, error, errorUpdateCount } }: Query): boolean {
  return data === undefined && errorUpdateCount > 0 && (error === null || mayHeal(error))
}
