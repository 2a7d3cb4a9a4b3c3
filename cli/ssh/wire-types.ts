/** Encodes a uint32 of SSH (RFC 4251, 5). A pure function. */
export function encodeNumber(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Encodes a string of SSH as its length (a uint32) and its bytes. Writes text in UTF-8. A pure function. */
export function encodeString(value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([encodeNumber(bytes.length), bytes])
}
