import { ServiceError } from '../../../shared/errors.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'

/** Converts a size in GiB to bytes. */
export function bytesOf(gib: number): number {
  return Math.ceil(gib * 1024 ** 3)
}

/**
 * Sets the quota of a subvolume.
 * @throws ServiceError `below_use`, with figures, if it holds more than `sizeGb` already; `tree.what` begins its sentence
 */
export async function resizeTree(
  filesystem: CowFilesystem,
  tree: { name: string; what: string },
  sizeGb: number,
): Promise<void> {
  const [used, quotaBytes] = [await filesystem.usedBytes(tree.name), bytesOf(sizeGb)]
  if (quotaBytes < used) {
    const figures = `${mib(used)} MiB are in use, ${mib(quotaBytes)} MiB were asked for`
    throw new ServiceError('below_use', `${tree.what} holds more than that: ${figures}.`)
  }
  await filesystem.setQuota(tree.name, quotaBytes)
}

function mib(bytes: number): number {
  return Math.ceil(bytes / 1024 ** 2)
}
