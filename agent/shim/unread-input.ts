import type { Writable } from 'node:stream'
import type { ServiceError } from '../../shared/errors.ts'
import { createFairShares, type Owners } from '../../shared/fair-shares.ts'
import { refusal } from '../../shared/refusals.ts'
import { SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'

/** The initial input of one command, kept until the command has read it. */
export interface PendingInput {
  /** Writes it, and ends the stream unless that is to stay open. Call once. */
  writeTo(stdin: Writable, options: { keepsOpen: boolean }): void
  /** Drops the input of a command that never ran. */
  drop(): void
}

/** Bounds the memory of input that commands have not read, shared fairly by their boxes and accounts. */
export interface UnreadInput {
  /** Takes base64. Throws `rate_limited` if one of the owners would have more of the 64 MiB than it leaves free. */
  take(owners: Owners, base64: string): PendingInput
}

export function createUnreadInput(): UnreadInput {
  const shares = createFairShares(SHIM_LIMITS.unreadInputBytes)
  return {
    take: (owners, base64) => {
      const giveBack = shares.take(owners, Buffer.byteLength(base64, 'base64'))
      if (giveBack === null) throw tooMuch()
      let bytes: Buffer | null = Buffer.from(base64, 'base64')
      const release = (): void => {
        giveBack()
        bytes = null
      }
      return {
        // The stream closes once all is written, or the reading end is closed.
        writeTo: (stdin, { keepsOpen }) => {
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
  return refusal('rate_limited', [
    `Commands that run have not read their input yet: at most ${SHIM_LIMITS.unreadInputBytes / 1024 ** 2} MiB in all, shared by projects.`,
    'Try again when they have, or end them.',
  ])
}
