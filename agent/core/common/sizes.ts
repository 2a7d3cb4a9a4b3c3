import { refusal } from '../../../shared/refusals.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'

/** Converts a size in GiB to bytes. */
export function bytesOf(gib: number): number {
  return Math.ceil(gib * 1024 ** 3)
}

/**
 * Sets the quota of a subvolume.
 * @throws ServiceError `below_use`, with sizes, if it already holds more than `sizeGb`. `tree.what` begins the message
 */
export async function resizeTree(
  filesystem: CowFilesystem,
  tree: { name: string; what: string },
  sizeGb: number,
): Promise<void> {
  const [used, quotaBytes] = [await filesystem.usedBytes(tree.name), bytesOf(sizeGb)]
  if (quotaBytes < used) {
    const sizes = formatSizes(used, quotaBytes)
    const figures = `${sizes.used} are in use, ${sizes.asked} were asked for`
    throw refusal('below_use', [
      `${tree.what} holds more than that: ${figures}.`,
      'Delete files in it, or ask for more.',
    ])
  }
  await filesystem.setQuota(tree.name, quotaBytes)
}

/** Formats the size in use and the smaller one asked for, in the largest unit in which the two differ. Below 10 MiB not in MiB. */
export function formatSizes(used: number, asked: number): { used: string; asked: string } {
  const differs = ({ bytes }: Unit): boolean => Math.ceil(used / bytes) > Math.ceil(asked / bytes)
  const unit = (used < SMALL_BYTES ? UNITS.slice(1) : UNITS).find(differs) ?? BYTES
  const format = (size: number): string => `${Math.ceil(size / unit.bytes)} ${unit.name}`
  return { used: format(used), asked: format(asked) }
}

interface Unit {
  name: string
  bytes: number
}

const SMALL_BYTES = 10 * 1024 ** 2
const BYTES: Unit = { name: 'bytes', bytes: 1 }
const UNITS: readonly Unit[] = [{ name: 'MiB', bytes: 1024 ** 2 }, { name: 'KiB', bytes: 1024 }, BYTES]
