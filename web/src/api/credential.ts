import type { Credential } from './session.ts'

/**
 * Returns what a pasted text signs in with: a token, also with the `Bearer` of a header before it, or the ticket of a sign-in link. Spaces
 * and line ends around it are no part of it. Null: it is neither.
 */
export function readCredential(text: string): Credential | null {
  const word = text.trim().replace(/^bearer\s+/i, '')
  const [, ticket] = /^https?:\/\/\S+\/sign-in#(\S+)$/.exec(word) ?? []
  if (ticket !== undefined) return { ticket }
  return TOKEN.test(word) ? { token: word } : null
}

/** The form of a JSON Web Token, which every token has. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/
