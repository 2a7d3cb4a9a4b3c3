/**
 * Decodes the bytes of a name or path. Maps each byte that is not UTF-8 to a lone surrogate, U+DC80 to U+DCFF, as Python's
 * `surrogateescape` does. Two different names never become one. A pure function.
 */
export function textOfBytes(bytes: Uint8Array): string {
  const whole = decode(bytes)
  if (whole !== null) return whole
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const length = lengthOf(bytes[at] ?? 0)
    const character = at + length > bytes.length ? null : decode(bytes.subarray(at, at + length))
    text += character ?? String.fromCharCode(ESCAPE + (bytes[at] ?? 0))
    at += character === null ? 1 : length
  }
  return text
}

/** Returns the bytes of a text that `textOfBytes` gave. A pure function. */
export function bytesOfText(text: string): Uint8Array {
  if (isText(text)) return new TextEncoder().encode(text)
  // With this flag, surrogates match only if they are not part of a pair.
  const parts = text.split(/([\udc80-\udcff])/u).map((part, index) => {
    return index % 2 === 0 ? new TextEncoder().encode(part) : Uint8Array.of(part.charCodeAt(0) - ESCAPE)
  })
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** Returns whether a result of `textOfBytes` came from valid UTF-8. A pure function. */
export function isText(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

/** Returns the fields that name a path in a request. They hold text, or base64 if the bytes are not UTF-8. A pure function. */
export function pathFields(path: string): { path: string } | { path_base64: string } {
  return isText(path) ? { path } : { path_base64: btoa(String.fromCharCode(...bytesOfText(path))) }
}

/** Returns the path that an answer names, as `textOfBytes` does. A pure function. */
export function pathOf({ path, path_base64: base64 }: { path: string; path_base64: string | null }): string {
  return base64 === null ? path : textOfBytes(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)))
}

function decode(bytes: Uint8Array): string | null {
  try {
    return DECODER.decode(bytes)
  } catch {
    return null
  }
}

/** Returns the number of bytes of a UTF-8 character by its first byte. */
function lengthOf(first: number): number {
  return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Adding this to a byte of 0x80 or more gives a lone surrogate. */
const ESCAPE = 0xdc00
