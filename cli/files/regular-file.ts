import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { UsageError } from '../output/failures.ts'

/**
 * Reads a text file that a checkout may have brought, of at most 64 KiB. Never waits for a FIFO and never opens a device.
 * @throws UsageError for what is not a file, and for one that is larger
 */
export function readRegularFile(path: string): string {
  if (!statSync(path).isFile()) throw new UsageError(`${path} is not a file.`)
  // It may have been replaced by a FIFO since; Windows has neither FIFOs nor this flag.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new UsageError(`${path} is not a file.`)
    if (stats.size > MAX_BYTES) throw new UsageError(`${path} has ${stats.size} bytes; at most ${MAX_BYTES} are read.`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

const MAX_BYTES = 64 * 1024
