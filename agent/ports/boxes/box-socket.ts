import type { Duplex } from 'node:stream'

/** The user of a socket, as in `ExecRequest`. */
export interface SocketOptions {
  user: string | null
  accounts?: readonly string[]
}

/**
 * A Unix socket in a box, which this process serves. It ends with the box, with this process, and with `close`. Only processes of its
 * user and of the box's root connect to it.
 */
export interface BoxSocket {
  /** Its absolute path in the box. */
  readonly path: string
  /**
   * Accepts a few connections at a time. Others wait in the box until one closes. Calls `listener` with each connection. The box may stop
   * reading in either direction. Call it once.
   */
  serve(listener: (connection: Duplex) => void): void
  /** Closes all connections, and removes the socket from the box. Resolves once that is done, within 2 s. Never rejects. */
  close(): Promise<void>
}
