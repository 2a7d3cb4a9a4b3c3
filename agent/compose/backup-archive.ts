import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import * as z from 'zod'

/** Files of a data directory that an archive holds. The database comes last, because a restored directory is complete once it has that. */
export const ARCHIVED_FILES = [
  'instance',
  'keys/token-private.json',
  'keys/token-public.json',
  'keys/channel.json',
  'keys/backup.json',
  'admin.token',
  'boxyard.db',
] as const

/** Directory in a data directory of a restore that is under way. Until the database is there, nothing may start on it. */
export const RESTORE_MARK = '.restoring'

/** Name of the directory in an archive. */
export const ARCHIVE_ROOT = 'boxyard-backup'

/** Settings of the host that made an archive, in the form of /etc/boxyard/boxyard.conf. */
export const ARCHIVED_SETTINGS = 'settings.conf'

/** `manifest.json` of an archive. */
export const backupArchiveSchema = z.object({
  format: z.literal(1),
  made_at: z.string(),
  version: z.string(),
  /** Version of the database's schema. */
  schema: z.int(),
  instance: z.string().regex(/^[a-z0-9]{8}$/),
  data_dir: z.string(),
  /** Id of the pool that belongs to the database, which is not in the archive. Null if there was none. */
  pool_id: z.string().nullable(),
  /** SHA-256 of each file, in hexadecimal. */
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
})

export type BackupArchive = z.infer<typeof backupArchiveSchema>

/** Returns the SHA-256 of a file, in hexadecimal. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
