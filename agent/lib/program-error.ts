/**
 * The failure of a program that the agent ran. Programs name a full disk in text only: `code` is its errno, so that `isErrno` and
 * `asServiceError` treat it as a failed system call of ours.
 */
export class ProgramError extends Error {
  override readonly name: string = 'ProgramError'
  /** `ENOSPC` or `EDQUOT` if the program ran out of room on a disk, else undefined. */
  readonly code: FullDisk | undefined

  /** `errorText` is what the program wrote to stderr. */
  constructor(message: string, errorText: string) {
    super(message)
    this.code = fullDiskOf(errorText)
  }
}

/** The errors of a disk without room, and of a quota of it. */
type FullDisk = 'ENOSPC' | 'EDQUOT'

/**
 * Finds the error of a full disk in the stderr of a program, in words of strerror(3) in English or as a number of the kernel.
 * Calls that make namespaces, watches and cgroups report their own limits by the same words, so their lines do not count. Pure.
 */
export function fullDiskOf(errorText: string): FullDisk | undefined {
  const lines = errorText.split('\n').filter((line) => !NO_DISK.test(line))
  return FULL_DISK.find(([, words]) => lines.some((line) => words.test(line)))?.[0]
}

const FULL_DISK: readonly (readonly [FullDisk, RegExp])[] = [
  ['EDQUOT', /disk quota exceeded|\bEDQUOT\b|failed with -122\b/i],
  ['ENOSPC', /no space left on device|\bENOSPC\b|failed with -28\b/i],
]
const NO_DISK = /\b(unshare|clone3?|setns|inotify\w*|cgroup\w*)\b/i
