import type { Token } from '../../api/records.ts'
import { naturalKey } from '../../ui/natural.ts'

export type TokenState = 'live' | 'expired' | 'revoked'

/** Returns whether a token is valid at a time, or the reason why not. */
export function tokenState({ revoked_at: revoked, expires_at: expires }: Token, now: number): TokenState {
  if (revoked !== null) return 'revoked'
  return expires !== null && Date.parse(expires) <= now ? 'expired' : 'live'
}

/** Filters of the list of tokens, as in the address of the page. */
export interface TokenFilter {
  text: string
  /** `live`, `ended` or `all`. */
  state: string
  /** `name`, `created` or `expires`. A leading `-` reverses the order. */
  sort: string
}

/** Returns the tokens that have all words of the text, in order. */
export function selectTokens(tokens: readonly Token[], { text, state, sort }: TokenFilter, now: number): Token[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = tokens.filter(
    (token) =>
      (state === 'all' || (state === 'live') === (tokenState(token, now) === 'live')) &&
      words.every((word) => wordsOf(token).includes(word)),
  )
  const value = VALUES[sort.replace(/^-/, '')] ?? nameKey
  found.sort((a, b) => compare(value(a), value(b)))
  return sort.startsWith('-') ? found.reverse() : found
}

/**
 * Returns the tokens that are revoked with one. These are the tokens created with it, or in it if it is a session, then theirs, and so on.
 */
export function mintedWith(tokens: readonly Token[], id: string): Token[] {
  const found: Token[] = []
  const isOf = new Set([id])
  // A creating token is older than the tokens it creates.
  for (const token of tokens.toSorted((a, b) => compare(a.created_at, b.created_at))) {
    const { created_by: by, session } = token
    if (!(by !== null && isOf.has(by)) && !(session !== null && isOf.has(session))) continue
    isOf.add(token.id)
    found.push(token)
  }
  return found
}

/** Returns the projects of a token in words. */
export function projectsText(projects: Token['projects']): string {
  return projects === '*' ? 'all projects' : projects.join(', ')
}

function wordsOf({ name, id, projects, permissions }: Token): string {
  return `${name} ${id} ${projectsText(projects)} ${permissions.join(' ')}`.toLowerCase()
}

function nameKey({ name }: Token): string {
  return naturalKey(name)
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

const VALUES: Readonly<Record<string, (token: Token) => string>> = {
  name: nameKey,
  created: ({ created_at }) => created_at,
  // A token that never expires comes after all others.
  expires: ({ expires_at }) => expires_at ?? '~',
}
