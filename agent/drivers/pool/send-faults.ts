import { ServiceError } from '../../../shared/errors.ts'

/**
 * The error of a `btrfs send` that ended with `complaint`. The kernel names what it tells of by its path, which must not be longer
 * than 4,095 bytes; a tree may be deeper all the same, made directory by directory.
 */
export function sendFault(complaint: string): Error {
  const cause = new Error(`btrfs send failed: ${complaint}`)
  if (!complaint.includes(`failed with -${ENAMETOOLONG}:`)) return cause
  const detail = 'There is a path of more than 4,095 bytes, which can be neither compared nor backed up.'
  return new ServiceError('path_invalid', detail, { cause })
}

const ENAMETOOLONG = 36
