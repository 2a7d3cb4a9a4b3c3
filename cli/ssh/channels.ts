import type { ServerChannel } from 'ssh2'

/** A channel that a client opened, with flow control by its window. */
export interface ClientChannel {
  /** Bytes from the client, to the end of its direction. */
  input: AsyncIterable<Uint8Array>
  /**
   * Sends bytes, and waits until the client's window has accepted them. A slow client only delays its own command. @throws Error once it is
   * gone
   */
  send(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void>
  /** Ends the direction to the client, and leaves the other open. */
  endOutput(): void
  /** Closes the channel, with the exit code if it ran a command. */
  close(exitCode?: number): void
}

/**
 * Wraps a channel of ssh2. Allows one send at a time for both streams. ssh2 has one place per stream for bytes that the window did not
 * accept, and does not clear it. A send on the other stream would then resend them.
 */
export function createClientChannel(channel: ServerChannel, gone: AbortSignal): ClientChannel {
  const waiting = channel as ServerChannel & WaitingChunks
  // `send` reports the result of a write to a client that is gone.
  channel.on('error', () => undefined)
  channel.stderr.on('error', () => undefined)
  let fail: ((error: Error) => void) | null = null
  gone.addEventListener('abort', () => fail?.(clientIsGone()), { once: true })
  return {
    // Leaving the loop must not close the channel, which may still have output.
    input: channel.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>,
    send: (stream, bytes) =>
      new Promise((resolve, reject) => {
        if (gone.aborted || !channel.writable) return reject(clientIsGone())
        fail = reject
        const target = stream === 'stdout' ? channel : channel.stderr
        target.write(bytes, (error) => {
          fail = null
          for (const key of WAITING_CHUNKS) waiting[key] = undefined
          if (error) reject(error)
          else resolve()
        })
      }),
    endOutput: () => channel.eof(),
    close: (exitCode) => {
      if (exitCode !== undefined) channel.exit(exitCode)
      channel.end()
    },
  }
}

function clientIsGone(): Error {
  return new Error('The client has disconnected.')
}

const WAITING_CHUNKS = ['_chunk', '_chunkcb', '_chunkErr', '_chunkcbErr'] as const
type WaitingChunks = Partial<Record<(typeof WAITING_CHUNKS)[number], unknown>>
