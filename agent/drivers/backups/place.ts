import { readFileSync, statSync } from 'node:fs'
import type { BackupStore } from '../../ports/backups/store.ts'
import { openFolderStore } from './store-folder.ts'

/** Where backups are to be kept: an S3 bucket, with the path of a file of its keys, or else a folder. */
export interface BackupPlace {
  directory: string
  s3: { endpoint: string; bucket: string; region: string; prefix: string; keyFile: string } | null
}

/**
 * Opens a place of backups; nothing is asked of it before the first backup.
 * @throws Error for a file of keys that is not one, or that others may read
 */
export async function openBackupPlace({ directory, s3 }: BackupPlace): Promise<BackupStore> {
  if (s3 === null) return openFolderStore(directory)
  const { keyFile, ...place } = s3
  const keys = readKeys(keyFile)
  const { openS3Store } = await import('./store-s3.ts')
  return openS3Store({ ...place, keys, attempts: ATTEMPTS, timeoutMs: TIMEOUT_MS })
}

// Nothing of what is in the file goes into an error.
function readKeys(path: string): { accessKeyId: string; secretAccessKey: string } {
  if ((statSync(path).mode & 0o007) !== 0) throw new Error(`${path}: others may read it; make it mode 0600.`)
  try {
    const keys = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = keys
    if (typeof accessKeyId === 'string' && typeof secretAccessKey === 'string') return { accessKeyId, secretAccessKey }
  } catch {
    // Told below.
  }
  throw new Error(`${path}: expected {"access_key_id": "…", "secret_access_key": "…"}.`)
}

// With the waits between them about a minute, and longer where each takes its time.
const ATTEMPTS = 10
const TIMEOUT_MS = 30_000
