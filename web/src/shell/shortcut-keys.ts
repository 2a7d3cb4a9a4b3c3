/** An action bound to a key. */
export type Shortcut = { kind: 'help' } | { kind: 'search' } | { kind: 'create' } | { kind: 'go'; to: string }

/** Returns the action of a key after another one. Null if it has none. */
export function shortcutOf(before: string, key: string): Shortcut | null {
  if (before === 'g') {
    const to = PLACES[key]
    return to === undefined ? null : { kind: 'go', to }
  }
  const kind = KINDS[key]
  return kind === undefined ? null : { kind }
}

const KINDS: Readonly<Record<string, 'help' | 'search' | 'create'>> = { '?': 'help', '/': 'search', c: 'create' }
const PLACES: Readonly<Record<string, string>> = {
  b: '/boxes',
  v: '/volumes',
  p: '/projects',
  a: '/activity',
  o: '/',
}
