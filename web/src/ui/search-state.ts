import { useNavigate, useSearch } from '@tanstack/react-router'

/** The state of a page in its address. */
export interface SearchState {
  /** Returns a part, or an empty text if the address does not have it. */
  get(name: string): string
  /** Changes parts. Empty ones leave the address. */
  change(parts: Readonly<Record<string, string>>): void
}

/** Returns the state in the address, so that every view of a page has a link. */
export function useSearchState(): SearchState {
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false })
  const navigate = useNavigate()
  return {
    get: (name) => search[name] ?? '',
    change: (parts) => {
      const next = Object.fromEntries(Object.entries({ ...search, ...parts }).filter(([, value]) => value))
      void navigate({ to: '.', search: next, replace: true })
    },
  }
}
