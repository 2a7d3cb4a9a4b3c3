import { createHash } from 'node:crypto'

/** SHA-256 of a secret, hexadecimal, lower case: what is kept of it. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
