import { createHash } from 'node:crypto'

/** SHA-256 of a text, 64 hexadecimal digits, lower case: of a secret, what is kept of it. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The first 32 digits of it, 128 bits: for names that are bounded in length. */
export function shortDigestOf(text: string): string {
  return digestOf(text).slice(0, 32)
}
