import type { Socket } from 'node:net'

/** A reader of lines. */
export interface JsonLines {
  /**
   * Stops reading lines, for a caller that changes the protocol: pauses the socket, and returns the bytes received after the
   * last line.
   */
  release(): Buffer
}

/**
 * Calls `onValue` with the parsed JSON of each line. Destroys the socket at a line above `maxBytes` or of invalid JSON, since
 * the next line cannot be found.
 */
export function readJsonLines(socket: Socket, maxBytes: number, onValue: (value: unknown) => void): JsonLines {
  let pieces: Buffer[] = []
  let bufferedBytes = 0
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
      bufferedBytes = 0
    }
    bufferedBytes += rest.length
    if (bufferedBytes > maxBytes) socket.destroy(new Error(`a line is longer than ${maxBytes} bytes`))
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

/** Sends a value as a line. Does nothing if the socket is closed. */
export function writeJsonLine(socket: Socket, value: unknown): void {
  if (socket.writable) socket.write(`${JSON.stringify(value)}\n`)
}

const NEWLINE = 10
