import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { lockFile } from '../syscalls/descriptors.ts'

/**
 * Makes this process the only agent of a data directory, until it ends however that happens. The returned function lets go.
 * @throws Error if another agent holds it
 */
export function lockDataDirectory(dataDir: string): () => void {
  const fd = openSync(join(dataDir, 'lock'), 'a', 0o600)
  if (lockFile(fd, 'exclusive')) return () => closeSync(fd)
  closeSync(fd)
  throw new Error(`Another agent runs on ${dataDir}: stop it first.`)
}
