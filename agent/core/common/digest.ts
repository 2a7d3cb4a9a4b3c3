import { createHash } from 'node:crypto'

/** Returns the SHA-256 of a text, as 64 lower-case hexadecimal digits. Secrets are stored as this only. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Returns the first 32 digits (128 bits) of `digestOf`, for names of bounded length. */
export function shortDigestOf(text: string): string {
  return digestOf(text).slice(0, 32)
}
