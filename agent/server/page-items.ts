/** The end of a page of a list. */
export interface PageEnd {
  has_more: boolean
  next_continuation_token: string | null
}

/**
 * Splits the JSON of a page, which begins with its array `field`, into the bytes of its items as they come. So a page is never held or
 * parsed whole. Returns what follows them.
 * @throws Error for an answer of another form, an item of more than 4 MiB, and errors of `pieces`
 */
export async function* splitPage(pieces: AsyncIterable<Uint8Array>, field: string): AsyncGenerator<Buffer, PageEnd> {
  const opening = Buffer.from(`{"${field}":[`)
  const scan: Scan = { held: NONE, store: NONE, at: 0, depth: 0, isInText: false, isEscaped: false }
  let part: 'opening' | 'items' | 'end' = 'opening'
  for await (const piece of pieces) {
    append(scan, piece)
    if (part === 'opening' && scan.held.length >= opening.length) {
      if (!scan.held.subarray(0, opening.length).equals(opening)) throw new Error(`the page has no ${field}`)
      scan.held = scan.held.subarray(opening.length)
      part = 'items'
    }
    while (part === 'items') {
      const found = nextItem(scan)
      if (found === null) break
      if (found === 'end') part = 'end'
      else yield found
    }
    if (scan.held.length > HELD_MAX) throw new Error(`an item of the page is longer than ${HELD_MAX} bytes`)
  }
  if (part !== 'end') throw new Error('the page is incomplete')
  return decodeEnd(scan.held)
}

interface Scan {
  /** Bytes from the end of the last item on. */
  held: Buffer
  /** Memory with `held` at its end and room behind that, or empty while `held` is a piece. */
  store: Buffer
  /** Where the scan continues. */
  at: number
  depth: number
  isInText: boolean
  isEscaped: boolean
}

/** Takes the next item out of the held bytes. Null: more is needed. `end`: the array has ended, and only its end is held. */
function nextItem(scan: Scan): Buffer | 'end' | null {
  const { held } = scan
  let { at, depth, isInText, isEscaped } = scan
  for (; at < held.length; at++) {
    const byte = held[at]
    if (isInText) {
      if (isEscaped) isEscaped = false
      else if (byte === BACKSLASH) isEscaped = true
      else if (byte === QUOTE) isInText = false
    } else if (byte === QUOTE) isInText = true
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth--
      if (depth > 0) continue
      scan.held = held.subarray(at + 1)
      Object.assign(scan, FRESH)
      if (depth < 0) return 'end'
      return held.subarray(held[0] === COMMA ? 1 : 0, at + 1)
    }
  }
  Object.assign(scan, { at, depth, isInText, isEscaped })
  return null
}

/** Adds a piece to the held bytes. Moves them to twice the memory when it is full, because pieces may have a single byte. */
function append(scan: Scan, piece: Uint8Array): void {
  const { held } = scan
  const bytes = held.length + piece.length
  if (held.length === 0) {
    scan.held = Buffer.from(piece.buffer, piece.byteOffset, piece.length)
    scan.store = NONE
    return
  }
  let begin = held.byteOffset - scan.store.byteOffset
  if (held.buffer !== scan.store.buffer || begin + bytes > scan.store.length) {
    // Does not use the pool that Buffers share, where the bytes of others follow.
    scan.store = Buffer.from(new ArrayBuffer(2 * bytes))
    scan.store.set(held)
    begin = 0
  }
  scan.store.set(piece, begin + held.length)
  scan.held = scan.store.subarray(begin, begin + bytes)
}

function decodeEnd(bytes: Buffer): PageEnd {
  const end = JSON.parse(`{${bytes.toString('utf8').replace(',', '')}`) as Record<string, unknown>
  const { has_more: hasMore, next_continuation_token: token } = end
  if (typeof hasMore !== 'boolean' || (token !== null && typeof token !== 'string'))
    throw new Error('the page has no end')
  return { has_more: hasMore, next_continuation_token: token }
}

const NONE = Buffer.alloc(0)
const FRESH = { at: 0, depth: 0, isInText: false, isEscaped: false }
const HELD_MAX = 4 * 1024 * 1024
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
