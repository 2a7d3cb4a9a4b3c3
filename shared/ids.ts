import { takeRandomBytes } from './random-bytes.ts'

/** The type prefixes of identifiers (docs/api.md#conventions). */
export type IdPrefix = 'box' | 'vol' | 'snp' | 'bak' | 'bas' | 'exe' | 'ses' | 'opr' | 'evt' | 'tok' | 'req'

/**
 * Creates an identifier: prefix, `_`, 26 lower-case Crockford base32 characters: 48 bits of milliseconds, then 80 random bits, so
 * that identifiers sort by time (the layout of ULID).
 */
export function newId(prefix: IdPrefix, nowMs: number): string {
  return `${prefix}_${encodeTime(nowMs)}${encodeRandom(takeRandomBytes(16))}`
}

function encodeTime(nowMs: number): string {
  let rest = nowMs
  let text = ''
  for (let i = 0; i < 10; i++) {
    text = ALPHABET.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text
}

function encodeRandom(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < 16; i++) text += ALPHABET.charAt((bytes[i] ?? 0) & 31)
  return text
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
