import type { Writable } from 'node:stream'
import { ServiceError } from '../../shared/errors.ts'
import { createFairShares } from '../../shared/fair-shares.ts'
import { SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'

/** The input of one command, held until the command has read it. */
export interface InputShare {
  /** Writes it, once, and ends the stream unless that is to stay open. */
  feed(stdin: Writable, options: { keepsOpen: boolean }): void
  /** For a command that never ran; after `feed` nothing happens. */
  drop(): void
}

/** Input that commands have not read, all of it bounded: whoever does not read must not use up the memory of all. */
export interface UnreadInput {
  /** Takes base64. Throws `rate_limited` where less of 64 MiB would be left for other boxes than this one has. */
  take(boxId: string, base64: string): InputShare
}

/** Nothing held yet. */
export function createUnreadInput(): UnreadInput {
  const shares = createFairShares(SHIM_LIMITS.unreadInputBytes)
  return {
    take: (boxId, base64) => {
      const giveBack = shares.take(boxId, Buffer.byteLength(base64, 'base64'))
      if (giveBack === null) throw tooMuch()
      let bytes: Buffer | null = Buffer.from(base64, 'base64')
      const release = (): void => {
        giveBack()
        bytes = null
      }
      return {
        // The stream closes when all is written, or nobody can read it any more.
        feed: (stdin, { keepsOpen }) => {
          stdin.on('error', () => undefined).once('close', release)
          if (!keepsOpen) stdin.end(bytes)
          else stdin.write(bytes ?? '', release)
        },
        drop: release,
      }
    },
  }
}

function tooMuch(): ServiceError {
  return new ServiceError('rate_limited', 'Commands that run have too much input that they have not read yet.')
}
