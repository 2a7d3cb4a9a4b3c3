import { useSyncExternalStore } from 'react'

const KEY = 'boxyard.screen-reader'
const listeners = new Set<() => void>()

/** Returns whether terminals of this browser are read out by a screen reader, which costs them speed. */
export function useScreenReader(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => localStorage.getItem(KEY) !== null,
  )
}

/** Chooses whether they are, for this browser. */
export function chooseScreenReader(isOn: boolean): void {
  if (isOn) localStorage.setItem(KEY, 'on')
  else localStorage.removeItem(KEY)
  for (const listener of listeners) listener()
}
