import * as z from 'zod'
import { gibSchema, idSchema, nameSchema, pageFields, timestampSchema } from './common.ts'

/** A backup of a data volume (docs/api/resources.md#backup): all fields are always present. */
export const backupSchema = z
  .looseObject({
    id: idSchema,
    project: nameSchema,
    volume: nameSchema,
    snapshot: z.string().nullable().meta({
      description: 'Copy in the pool that the next backup builds on, not a Snapshot of the API; null: not kept.',
    }),
    location: z.string().meta({ description: 'Prefix of the names of its objects in the backup store.' }),
    size_bytes: z
      .int()
      .meta({ description: 'Compressed size of its own objects, without those of the backups it builds on.' }),
    size_gb: gibSchema.meta({ description: 'GiB; size of the volume when it was backed up.' }),
    incremental_of: idSchema.nullable().meta({ description: 'Backup it builds on; null for a full backup.' }),
    sha256: z
      .string()
      .nullable()
      .meta({ description: 'Digest of its manifest, which holds those of all parts; null until it is done.' }),
    created_at: timestampSchema,
    status: z
      .enum(['running', 'done', 'failed'])
      .meta({ description: '`running` includes waiting for other backups.' }),
    error: z.string().nullable().meta({ description: 'Why it failed; else null.' }),
    automatic: z.boolean().meta({ description: 'Made by the schedule of the volume.' }),
  })
  .meta({ id: 'Backup' })

/** `GET D/backups` and `GET P/backups`: oldest first. */
export const backupListSchema = z
  .looseObject({ backups: z.array(backupSchema), ...pageFields })
  .meta({ id: 'BackupList' })

/** `POST D/backups/{backup}/restore`. */
export const restoreBackupBodySchema = z
  .strictObject({
    as: nameSchema
      .optional()
      .meta({ description: 'Name of a new volume; without it the volume itself is overwritten, in all its boxes.' }),
  })
  .meta({ id: 'RestoreBackup' })

const bound = (max: number, description: string) => z.int().min(1).max(max).nullable().optional().meta({ description })

/** `PUT D/backup-schedule`. */
export const backupScheduleBodySchema = z
  .strictObject({
    interval_seconds: z
      .int()
      .min(60)
      .max(31_536_000)
      .nullable()
      .meta({ description: 'Seconds between backups; null for no schedule.' }),
    keep_count: bound(10_000, 'Number of older backups of the schedule to keep; null for all.'),
    keep_seconds: bound(3_153_600_000, 'Seconds for which older ones are kept; null for ever.'),
  })
  .meta({ id: 'BackupSchedule' })

/** The path of one backup of a data volume. */
export const backupParams = z.strictObject({ project: nameSchema, name: nameSchema, backup: idSchema })

export type Backup = z.infer<typeof backupSchema>
export type BackupScheduleBody = z.infer<typeof backupScheduleBodySchema>
