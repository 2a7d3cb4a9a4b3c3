import { posix } from 'node:path'
import type { BoxHandle } from '../../sdk/typescript/src/boxyard.ts'
import type { UploadBody } from '../../sdk/typescript/src/doors.ts'

/** Sends a tar to be unpacked in a directory of a box. @throws ApiError, ConnectionError, and Error if the box refused an entry */
export async function unpackIn(box: BoxHandle, directory: string, archive: UploadBody): Promise<void> {
  const { refused, refused_count: refusedCount } = await box.writeArchive(directory, archive)
  if (refusedCount === 0) return
  throw new Error(refused.map(({ path, reason }) => `${posix.join(directory, path)} was refused: ${reason}`).join('\n'))
}
