import { ServiceError } from '../../../shared/errors.ts'

/** The work on files that may take long: archives, files larger than 64 KiB, lists and removals of trees. */
export interface FileTransfers {
  /**
   * Counts one more of a box; returns what ends it, of which only the first call counts.
   * @throws ServiceError `rate_limited` beyond 8 of one box or 64 of all
   */
  enter(boxId: string): () => void
  /** Counts `work` until it has settled. Throws as `enter`, before it is begun. */
  during<T>(boxId: string, work: () => Promise<T>): Promise<T>
}

/** None is under way. */
export function createFileTransfers({ perBox, atOnce }: FileLimits = FILE_LIMITS): FileTransfers {
  const counts = new Map<string, number>()
  let total = 0
  const enter = (boxId: string): (() => void) => {
    const count = counts.get(boxId) ?? 0
    if (count >= perBox) throw tooMany('The box has as many long transfers of files under way as it may.')
    if (total >= atOnce) throw tooMany('Too many long transfers of files are under way.')
    counts.set(boxId, count + 1)
    total++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      total--
      const left = (counts.get(boxId) ?? 0) - 1
      if (left > 0) counts.set(boxId, left)
      else counts.delete(boxId)
    }
  }
  return {
    enter,
    during: async (boxId, work) => {
      const leave = enter(boxId)
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}

function tooMany(detail: string): ServiceError {
  return new ServiceError('rate_limited', detail, { headers: { 'Retry-After': '1' } })
}

interface FileLimits {
  perBox: number
  atOnce: number
}

/** How many long transfers may be under way, of one box and of all: each may hold hundreds of descriptors, and megabytes. */
export const FILE_LIMITS: FileLimits = { perBox: 16, atOnce: 128 }
