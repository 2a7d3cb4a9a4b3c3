/** The encoding of output in JSON. */
export type TextEncoding = 'utf-8' | 'base64'

/** Encodes bytes as text, with U+FFFD for invalid UTF-8, or as base64. */
export function encodeOutput(bytes: Uint8Array, encoding: TextEncoding): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(
    encoding === 'base64' ? 'base64' : 'utf8',
  )
}
