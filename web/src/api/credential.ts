import type { Credential } from './session.ts'

/**
 * Returns the credential in a pasted text: a token, even after the `Bearer` of a header, or the ticket of a sign-in link. Ignores
 * surrounding spaces and line ends. Returns null if it is neither.
 */
export function readCredential(text: string): Credential | null {
  const word = text.trim().replace(/^bearer\s+/i, '')
  const [, ticket] = /^https?:\/\/\S+\/sign-in(?:\?[^#\s]*)?#(\S+)$/.exec(word) ?? []
  if (ticket !== undefined) return isTicket(ticket) ? { ticket } : null
  return TOKEN.test(word) ? { token: word } : null
}

/** Returns true for a possible ticket of a sign-in link. */
export function isTicket(text: string): boolean {
  return TICKET.test(text)
}

/** The form of a JSON Web Token, which every token has. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/
const TICKET = /^[\w.-]{1,128}$/
