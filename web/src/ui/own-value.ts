import { useState } from 'react'

/** Returns the value of a field: the user's input, or else a suggestion. A suggestion that arrives late replaces nothing. */
export function useOwnValue(suggested: string): {
  value: string
  onChange(event: { target: { value: string } }): void
} {
  const [own, setOwn] = useState<string | null>(null)
  return { value: own ?? suggested, onChange: ({ target }) => setOwn(target.value) }
}
