import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { lockFile } from '../syscalls/descriptors.ts'

/**
 * Locks a data directory for this process until the returned function is called or the process ends.
 * @throws Error if another agent holds the lock
 */
export function lockDataDirectory(dataDir: string): () => void {
  const fd = openSync(join(dataDir, 'lock'), 'a', 0o600)
  if (lockFile(fd, 'exclusive')) return () => closeSync(fd)
  closeSync(fd)
  throw new Error(`Another agent runs on ${dataDir}: stop it first.`)
}
