import type { Credential } from './session.ts'

/**
 * Returns what a pasted text signs in with: a token, also with the `Bearer` of a header before it, or the ticket of a sign-in link. Spaces
 * and line ends around it are no part of it. Null: it is neither.
 */
export function readCredential(text: string): Credential | null {
  const word = text.trim().replace(/^bearer\s+/i, '')
  const [, ticket] = /^https?:\/\/\S+\/sign-in(?:\?[^#\s]*)?#(\S+)$/.exec(word) ?? []
  if (ticket !== undefined) return isTicket(ticket) ? { ticket } : null
  return TOKEN.test(word) ? { token: word } : null
}

/** Returns true for what can be the ticket of a sign-in link. */
export function isTicket(text: string): boolean {
  return TICKET.test(text)
}

/** The form of a JSON Web Token, which every token has. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/
const TICKET = /^[\w.-]{1,128}$/
