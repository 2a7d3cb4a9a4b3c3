import type { Writable } from 'node:stream'
import { ServiceError } from '../../shared/errors.ts'

/** The input of one command, held until the command has read it. */
export interface HeldInput {
  /** Writes it, once, and ends the stream. */
  feed(stdin: Writable): void
  /** For a command that never ran; after `feed` nothing happens. */
  drop(): void
}

/** Input that commands have not read, all of it bounded: whoever does not read must not use up the memory of all. */
export interface UnreadInput {
  /** Takes base64. Throws `rate_limited` where that would be more than 64 MiB with what is held. */
  take(base64: string): HeldInput
}

/** Nothing held yet. */
export function createUnreadInput(): UnreadInput {
  let heldBytes = 0
  return {
    take: (base64) => {
      const size = Buffer.byteLength(base64, 'base64')
      if (heldBytes + size > UNREAD_BYTES) throw tooMuch()
      let bytes: Buffer | null = Buffer.from(base64, 'base64')
      heldBytes += size
      const release = (): void => {
        if (bytes !== null) heldBytes -= size
        bytes = null
      }
      return {
        // The stream closes when all is written, or nobody can read it any more.
        feed: (stdin) => {
          stdin
            .on('error', () => undefined)
            .once('close', release)
            .end(bytes)
        },
        drop: release,
      }
    },
  }
}

function tooMuch(): ServiceError {
  return new ServiceError('rate_limited', 'Commands that run have too much input that they have not read yet.')
}

const UNREAD_BYTES = 64 * 1024 ** 2
