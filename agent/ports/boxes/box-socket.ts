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
   * Takes connections, a few at a time: others wait in the box until one of them has closed. Calls `listener` with each, in both of whose
   * directions the box may stop reading. Call it once.
   */
  serve(listener: (connection: Duplex) => void): void
  /** Closes all connections, and removes the socket from the box; resolves once that is done, within 2 s. Never rejects. */
  close(): Promise<void>
}
