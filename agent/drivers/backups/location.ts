import { readFileSync, statSync } from 'node:fs'
import type { BackupStore } from '../../ports/backups/store.ts'
import { openFolderStore } from './store-folder.ts'

/** Location of the backup store. It is an S3 bucket with the path of a file of its keys, or else a folder. */
export interface BackupLocation {
  directory: string
  s3: { endpoint: string; bucket: string; region: string; prefix: string; keyFile: string } | null
}

/**
 * Opens the backup store. Does not access it before the first backup.
 * @throws Error for a malformed key file, or one that others can read
 */
export async function openBackupStore({ directory, s3 }: BackupLocation): Promise<BackupStore> {
  if (s3 === null) return openFolderStore(directory)
  const { keyFile, ...location } = s3
  const keys = readKeys(keyFile)
  const { openS3Store } = await import('./store-s3.ts')
  return openS3Store({ ...location, keys, attempts: ATTEMPTS, timeoutMs: TIMEOUT_MS })
}

// Puts no content of the file into errors.
function readKeys(path: string): { accessKeyId: string; secretAccessKey: string } {
  if ((statSync(path).mode & 0o007) !== 0) throw new Error(`${path}: other users can read it. Run chmod 0600 on it.`)
  try {
    const keys = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = keys
    if (typeof accessKeyId === 'string' && typeof secretAccessKey === 'string') return { accessKeyId, secretAccessKey }
  } catch {
    // The code below reports it.
  }
  throw new Error(`${path}: expected {"access_key_id": "…", "secret_access_key": "…"}.`)
}

// Takes about a minute with the waits in between, and longer if the attempts are slow.
const ATTEMPTS = 10
const TIMEOUT_MS = 30_000
