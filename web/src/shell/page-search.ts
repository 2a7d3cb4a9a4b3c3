import { useSearch } from '@tanstack/react-router'

/** Returns the query of the page's address, which holds the page's state, so that every state has a link. */
export function usePageSearch<Search extends Record<string, string>>(): Partial<Search> {
  // The router only passes texts.
  const search: unknown = useSearch({ strict: false })
  return search as Partial<Search>
}
