import type { Duplex } from 'node:stream'

/** A TCP connection to a port of a box: to its loopback or, where nothing listens there, to its own address. */
export interface PortConnection {
  /**
   * Its bytes. Either direction ends without the other. While one side does not read, the other waits. Fails if the program resets the
   * connection, or with `box_not_running` when the box ends.
   */
  readonly stream: Duplex
  /** Sends what was written, then closes both directions. Resets the connection if the program does not take that within 10 s. */
  close(): void
  /** Resets the connection, so that the program sees an error rather than EOF. Does nothing once it is closed. */
  reset(): void
}
