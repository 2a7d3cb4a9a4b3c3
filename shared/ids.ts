import { takeRandomBytes } from './random-bytes.ts'

/** The type prefixes of identifiers (docs/api.md#conventions). */
export type IdPrefix = 'box' | 'vol' | 'snp' | 'bak' | 'bas' | 'exe' | 'ses' | 'opr' | 'evt' | 'tok' | 'req'

/**
 * Creates an identifier in the layout of ULID: prefix, `_`, and 26 lower-case Crockford base32 characters. They encode 48 bits of
 * milliseconds, then 80 random bits, so that identifiers sort by time.
 */
export function newId(prefix: IdPrefix, nowMs: number): string {
  return `${prefix}_${encodeTime(nowMs)}${encodeRandom(takeRandomBytes(16))}`
}

/**
 * Creates an identifier that contains the number of the fleet's cell that creates it. The zero-padded number is the first 4 of the 16
 * random characters, which leaves 60 random bits.
 */
export function newIdOfCell(prefix: IdPrefix, nowMs: number, cell: string): string {
  const id = newId(prefix, nowMs)
  return id.slice(0, MARK_AT) + markOf(cell) + id.slice(MARK_AT + MARK_LENGTH)
}

/** Returns true for an identifier in the form that a cell of this number creates. */
export function isOfCell(id: string, cell: string): boolean {
  return id.slice(MARK_AT, MARK_AT + MARK_LENGTH) === markOf(cell)
}

function markOf(cell: string): string {
  return cell.padStart(MARK_LENGTH, '0')
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
/** After the prefix, `_` and the time. */
const MARK_AT = 14
const MARK_LENGTH = 4
