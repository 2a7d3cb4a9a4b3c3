import { useState } from 'react'

/** Returns the value of a field: what the user entered, or else a suggestion. A suggestion that arrives late replaces nothing. */
export function useOwnValue(suggested: string): {
  value: string
  onChange(event: { target: { value: string } }): void
} {
  const [own, setOwn] = useState<string | null>(null)
  return { value: own ?? suggested, onChange: ({ target }) => setOwn(target.value) }
}
