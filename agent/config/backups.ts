import { join } from 'node:path'
import * as z from 'zod'
import { absolute, flag, origin } from './variables.ts'

/** Backup store: `s3` if set, else `directory`. */
export interface BackupSettings {
  directory: string
  s3: S3Settings | null
  /** Whether to use backups that no known key has signed. */
  acceptsUnverified: boolean
}

/** An S3 bucket for backups. */
export interface S3Settings {
  endpoint: string
  bucket: string
  region: string
  /** Prefix of all object names. It may be empty. */
  prefix: string
  keyFile: string
}

/** Schemas of the backup store's variables, part of the agent's. */
export const BACKUP_VARIABLES = {
  BOXYARD_BACKUP_DIR: absolute.optional(),
  BOXYARD_BACKUP_UNVERIFIED: flag(false),
  BOXYARD_BACKUP_S3_ENDPOINT: origin.optional(),
  BOXYARD_BACKUP_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'expected the name of a bucket')
    .optional(),
  BOXYARD_BACKUP_S3_REGION: z.string().default('us-east-1'),
  BOXYARD_BACKUP_S3_PREFIX: z
    .string()
    .regex(
      /^([A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$/,
      'expected a prefix such as boxyard/main',
    )
    .default(''),
  BOXYARD_BACKUP_S3_KEY_FILE: absolute.optional(),
}

type BackupVariables = z.infer<z.ZodObject<typeof BACKUP_VARIABLES>> & { BOXYARD_DATA_DIR: string }

/**
 * Returns the backup store.
 * @throws Error for a bucket that is given in part, or beside a directory
 */
export function backupsOf(env: BackupVariables): BackupSettings {
  const { BOXYARD_BACKUP_S3_ENDPOINT: endpoint, BOXYARD_BACKUP_S3_BUCKET: bucket } = env
  const { BOXYARD_BACKUP_S3_KEY_FILE: keyFile, BOXYARD_BACKUP_DIR: given } = env
  const directory = given ?? join(env.BOXYARD_DATA_DIR, 'backups')
  const acceptsUnverified = env.BOXYARD_BACKUP_UNVERIFIED
  if (endpoint === undefined && bucket === undefined && keyFile === undefined)
    return { directory, s3: null, acceptsUnverified }
  if (endpoint === undefined || bucket === undefined || keyFile === undefined || given !== undefined) {
    throw new Error(
      'BOXYARD_BACKUP_S3_ENDPOINT, BOXYARD_BACKUP_S3_BUCKET and BOXYARD_BACKUP_S3_KEY_FILE: set all or none. They exclude BOXYARD_BACKUP_DIR.',
    )
  }
  const { BOXYARD_BACKUP_S3_REGION: region, BOXYARD_BACKUP_S3_PREFIX: prefix } = env
  return { directory, s3: { endpoint, bucket, region, prefix, keyFile }, acceptsUnverified }
}
