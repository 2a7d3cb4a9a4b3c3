import * as z from 'zod'
import { gibSchema, idSchema, nameSchema, pageFields, timestampSchema } from './common.ts'

/** A backup of a data volume (docs/api/resources.md#backup). All fields are always present. */
export const backupSchema = z
  .looseObject({
    id: idSchema,
    project: nameSchema,
    volume: nameSchema,
    snapshot: z.string().nullable().meta({
      description:
        'Name of the copy in the pool that the next backup builds on, or null if it is not kept. It is not a Snapshot of the API.',
    }),
    location: z.string().meta({ description: 'Prefix of its object names in the backup store.' }),
    size_bytes: z
      .int()
      .meta({ description: 'Compressed size of its own objects, in bytes, without the backups it builds on.' }),
    size_gb: gibSchema.meta({ description: 'Size of the volume at the time of the backup, in GiB.' }),
    incremental_of: idSchema.nullable().meta({ description: 'Backup it builds on. Null for a full backup.' }),
    sha256: z.string().nullable().meta({
      description:
        'SHA-256 digest of its manifest, which lists the digests of all parts. Null until the backup is done.',
    }),
    created_at: timestampSchema,
    status: z
      .enum(['running', 'done', 'failed'])
      .meta({ description: '`running` includes time spent waiting for other backups.' }),
    error: z.string().nullable().meta({ description: 'Why the backup failed. Null if it did not fail.' }),
    automatic: z.boolean().meta({ description: "Whether the volume's schedule created it." }),
  })
  .meta({ id: 'Backup' })

/** `GET D/backups` and `GET P/backups`: oldest first. */
export const backupListSchema = z
  .looseObject({ backups: z.array(backupSchema), ...pageFields })
  .meta({ id: 'BackupList' })

/** `POST D/backups/{backup}/restore`. */
export const restoreBackupBodySchema = z
  .strictObject({
    as: nameSchema.optional().meta({
      description: 'Name of the new volume. If absent, the restore overwrites the original volume in all its boxes.',
    }),
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
      .meta({ description: 'Seconds between backups. Null disables the schedule.' }),
    keep_count: bound(10_000, 'Number of older scheduled backups to keep. Null keeps all.'),
    keep_seconds: bound(3_153_600_000, 'How long to keep older backups, in seconds. Null keeps them forever.'),
  })
  .meta({ id: 'BackupSchedule' })

/** The path of one backup of a data volume. */
export const backupParams = z.strictObject({ project: nameSchema, name: nameSchema, backup: idSchema })

export type Backup = z.infer<typeof backupSchema>
export type BackupScheduleBody = z.infer<typeof backupScheduleBodySchema>
