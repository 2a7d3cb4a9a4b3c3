import type { ServiceError } from '../../../shared/errors.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { FilesRoot } from '../../ports/files/files.ts'

/** The owner of a transfer, with its box, and further accounts that share the total. */
export type TransferOwner = Pick<FilesRoot, 'boxId' | 'accounts'>

/** Limits long work on files: archives, files larger than 64 KiB, lists and removals of trees. */
export interface FileTransfers {
  /**
   * Takes a slot for a box, and returns its release, which is idempotent.
   * @throws ServiceError `rate_limited` beyond `FILE_LIMITS`, or if one of the accounts would have more than it leaves free
   */
  acquire(owner: TransferOwner): () => void
  /** Holds a slot while `work` runs. Throws as `acquire` does, without starting it. */
  run<T>(owner: TransferOwner, work: () => Promise<T>): Promise<T>
}

export function createFileTransfers({ perBox, total }: FileLimits = FILE_LIMITS): FileTransfers {
  const counts = new Map<string, number>()
  const shares = createFairShares(total)
  const acquire: FileTransfers['acquire'] = ({ boxId, accounts = [] }) => {
    const count = counts.get(boxId) ?? 0
    if (count >= perBox) throw tooMany(`The box has ${perBox} long transfers of files under way, the most it may have.`)
    const leave = shares.take(accounts)
    if (leave === null)
      throw tooMany(
        `Too many long transfers of files are under way. This agent allows ${total} at once, shared by projects.`,
      )
    counts.set(boxId, count + 1)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      leave()
      const left = (counts.get(boxId) ?? 0) - 1
      if (left > 0) counts.set(boxId, left)
      else counts.delete(boxId)
    }
  }
  return {
    acquire,
    run: async (owner, work) => {
      const release = acquire(owner)
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}

function tooMany(why: string): ServiceError {
  return refusal('rate_limited', [why, 'Try again when one has ended.'], { headers: { 'Retry-After': '1' } })
}

interface FileLimits {
  perBox: number
  total: number
}

/** Limits of concurrent long transfers, per box and in total. Each may hold hundreds of descriptors, and megabytes. */
export const FILE_LIMITS: FileLimits = { perBox: 16, total: 128 }
