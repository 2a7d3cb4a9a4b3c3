import type { Socket } from 'node:net'

/**
 * Calls `onValue` with what each line of `socket` says. A line above `maxBytes`, or one that is no JSON, ends the socket: what
 * follows it cannot be told apart.
 */
export function readJsonLines(socket: Socket, maxBytes: number, onValue: (value: unknown) => void): void {
  let pieces: Buffer[] = []
  let heldBytes = 0
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
  socket.on('data', (chunk: Buffer) => {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0 && !socket.destroyed; end = chunk.indexOf(NEWLINE, start)) {
      take(Buffer.concat([...pieces, chunk.subarray(start, end)]))
      pieces = []
      heldBytes = 0
      start = end + 1
    }
    const rest = chunk.subarray(start)
    heldBytes += rest.length
    if (heldBytes > maxBytes) socket.destroy(new Error(`a line is longer than ${maxBytes} bytes`))
    else if (rest.length > 0) pieces.push(rest)
  })
}

/** Sends a value as a line; nothing where the socket is closed. */
export function writeJsonLine(socket: Socket, value: unknown): void {
  if (socket.writable) socket.write(`${JSON.stringify(value)}\n`)
}

const NEWLINE = 10
