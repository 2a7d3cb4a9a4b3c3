import { useSyncExternalStore } from 'react'

/** `system` follows the machine. */
export type Theme = 'system' | 'light' | 'dark'

const KEY = 'boxyard.theme'
const listeners = new Set<() => void>()

/** Applies the chosen theme, now and whenever the machine's theme changes. */
export function startTheme(): void {
  apply()
  darkMachine().addEventListener('change', apply)
}

function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

/** Chooses a theme, for this browser. */
export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  apply()
}

/** Returns the chosen theme, and follows changes. */
export function useChosenTheme(): Theme {
  return useSyncExternalStore(watch, chosenTheme)
}

/** Returns whether the page is dark now. */
export function useIsDark(): boolean {
  return useSyncExternalStore(watch, () => document.documentElement.dataset['theme'] === 'dark')
}

function watch(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function apply(): void {
  const theme = chosenTheme()
  const isDark = theme === 'dark' || (theme === 'system' && darkMachine().matches)
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
  for (const listener of listeners) listener()
}

function darkMachine(): MediaQueryList {
  return matchMedia('(prefers-color-scheme: dark)')
}
