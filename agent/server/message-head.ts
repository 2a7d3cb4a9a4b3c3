/**
 * Encodes the head of a whole binary message of a server (RFC 6455 §5.2), with the first byte of its payload if that is given. The other
 * `restLength` bytes follow unchanged. So a command's output need not be copied to put a byte before it.
 */
export function messageHead(restLength: number, firstByte: number | null): Buffer {
  const length = restLength + (firstByte === null ? 0 : 1)
  const size = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const head = Buffer.allocUnsafe(firstByte === null ? size : size + 1)
  head[0] = WHOLE_BINARY
  if (size === 2) head[1] = length
  else if (size === 4) {
    head[1] = 126
    head.writeUInt16BE(length, 2)
  } else {
    head[1] = 127
    head.writeUInt32BE(0, 2)
    head.writeUInt32BE(length, 6)
  }
  if (firstByte !== null) head[size] = firstByte
  return head
}

const WHOLE_BINARY = 0x82
