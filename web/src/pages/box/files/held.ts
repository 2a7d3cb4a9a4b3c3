import { useState } from 'react'

/** Returns `value`; while it is held, what it was before. */
export function useHeld<Value>(value: Value, isHeld: boolean): Value {
  const [kept, keep] = useState(() => value)
  if (isHeld) return kept
  if (kept !== value) keep(() => value)
  return value
}
