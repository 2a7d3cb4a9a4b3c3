import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { UsageError } from '../output/failures.ts'
import { systemPath } from './local-places.ts'

/**
 * Reads a text file of at most 64 KiB that a checkout may have brought. Never waits for a FIFO and never opens a device.
 * @throws UsageError if it is not a file, or larger
 */
export function readRegularFile(path: string): string {
  if (!statSync(path).isFile()) throw new UsageError(`${path} is not a regular file.`)
  // A FIFO may have replaced the file since. Windows has neither FIFOs nor this flag.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new UsageError(`${path} is not a regular file.`)
    if (stats.size > MAX_BYTES) throw new UsageError(`${path} has ${stats.size} bytes. The limit is ${MAX_BYTES}.`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/**
 * Opens a file that a scan of a tree found. The caller closes it. Returns null if it is gone or no longer a regular file. Follows no link,
 * never waits for a FIFO, and reads no device.
 */
export async function openScannedFile(path: string): Promise<FileHandle | null> {
  let file: FileHandle
  try {
    // Windows has neither FIFOs nor these flags.
    file = await open(systemPath(path), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'code' in error && GONE.has(error.code)) return null
    throw error
  }
  if ((await file.stat()).isFile()) return file
  await file.close()
  return null
}

const MAX_BYTES = 64 * 1024
/** ELOOP means that a link has the name. ENXIO means a socket or a device without a driver. */
const GONE: ReadonlySet<unknown> = new Set(['ENOENT', 'ELOOP', 'ENXIO', 'ENODEV'])
