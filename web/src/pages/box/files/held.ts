import { useState } from 'react'

/** Returns `value`, or while it is held, its earlier value. */
export function useHeld<Value>(value: Value, isHeld: boolean): Value {
  const [kept, keep] = useState(() => value)
  if (isHeld) return kept
  if (kept !== value) keep(() => value)
  return value
}
