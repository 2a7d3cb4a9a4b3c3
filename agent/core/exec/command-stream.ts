import type { Readable, Writable } from 'node:stream'
import type { Terminal } from '../../ports/boxes/runtime.ts'

/** How a streamed command ended. */
export interface StreamEnd {
  /** Null if a signal ended it, or nobody knows. */
  exitCode: number | null
  /** Such as `SIGKILL`; null if it exited, or nobody knows. */
  signal: string | null
  /** What the client is told beside, such as a time-out; null if there is nothing to say. */
  note: string | null
}

/** A command or a console session, as one client streams it. */
export interface CommandStream {
  /** `exe_…` or `ses_…`. */
  readonly id: string
  /** Its end half-closes the command's input. What cannot be written any more is dropped without an error. */
  readonly stdin: Writable
  /** Both end when the command has ended and what it wrote has been read; to stop reading them stops the command. */
  readonly stdout: Readable
  readonly stderr: Readable
  readonly terminal: Terminal | null
  /** Whether it goes on when its client leaves, so that nothing is lost by its stream's end. */
  readonly goesOn: boolean
  /** How it ended, once that is durable; data may still be unread. Never rejects. */
  readonly ended: Promise<StreamEnd>
  /**
   * The client has gone before it was told of the end: what becomes of the command is as it was asked for. The streams are
   * destroyed.
   */
  leave(): void
}
