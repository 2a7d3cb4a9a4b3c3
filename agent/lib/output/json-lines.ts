import type { Socket } from 'node:net'

/** Lines that are being read. */
export interface JsonLines {
  /**
   * Reads no more, for whoever goes on with something else: the bytes that came after the last line that was told of. The
   * socket is paused, so that nothing is missed meanwhile.
   */
  release(): Buffer
}

/**
 * Calls `onValue` with what each line of `socket` says. A line above `maxBytes`, or one that is no JSON, ends the socket: what
 * follows it cannot be told apart.
 */
export function readJsonLines(socket: Socket, maxBytes: number, onValue: (value: unknown) => void): JsonLines {
  let pieces: Buffer[] = []
  let heldBytes = 0
  let isReleased = false
  const take = (line: Buffer): void => {
    let value: unknown
    try {
      value = JSON.parse(line.toString('utf8'))
    } catch (error) {
      socket.destroy(error instanceof Error ? error : undefined)
      return
    }
    onValue(value)
  }
  const read = (chunk: Buffer): void => {
    let rest = chunk
    for (let end = rest.indexOf(NEWLINE); end >= 0 && !socket.destroyed; end = rest.indexOf(NEWLINE)) {
      const line = Buffer.concat([...pieces, rest.subarray(0, end)])
      rest = rest.subarray(end + 1)
      pieces = [rest]
      take(line)
      if (isReleased) return
      pieces = []
      heldBytes = 0
    }
    heldBytes += rest.length
    if (heldBytes > maxBytes) socket.destroy(new Error(`a line is longer than ${maxBytes} bytes`))
    else if (rest.length > 0) pieces.push(rest)
  }
  socket.on('data', read)
  return {
    release: () => {
      isReleased = true
      socket.pause().off('data', read)
      return Buffer.concat(pieces)
    },
  }
}

/** Sends a value as a line; nothing where the socket is closed. */
export function writeJsonLine(socket: Socket, value: unknown): void {
  if (socket.writable) socket.write(`${JSON.stringify(value)}\n`)
}

const NEWLINE = 10
