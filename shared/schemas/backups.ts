import * as z from 'zod'
import { gibSchema, idSchema, nameSchema, pageFields, timestampSchema } from './common.ts'

/** A backup of a data volume (docs/api/resources.md#backup): all fields are always present. */
export const backupSchema = z
  .looseObject({
    id: idSchema,
    project: nameSchema,
    volume: nameSchema,
    snapshot: z.string().nullable().meta({ description: 'The copy that the next backup builds on, while it is kept.' }),
    location: z.string().meta({ description: 'The beginning of the names of its objects in the backup store.' }),
    size_bytes: z.int().meta({ description: 'Of its own objects, packed; without those of the backups it builds on.' }),
    size_gb: gibSchema.meta({ description: 'Of the volume.' }),
    incremental_of: idSchema.nullable().meta({ description: 'The backup it builds on; null: a full one.' }),
    sha256: z
      .string()
      .nullable()
      .meta({ description: 'Of its manifest, which has those of all parts; null until it is done.' }),
    created_at: timestampSchema,
    status: z.enum(['running', 'done', 'failed']),
    error: z.string().nullable(),
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
      .meta({ description: 'The name of a new volume; absent: the volume itself gets the data, in all its boxes.' }),
  })
  .meta({ id: 'RestoreBackup' })

const bound = (max: number, description: string) => z.int().min(1).max(max).nullable().optional().meta({ description })

/** `PUT D/backup-schedule`. */
export const backupScheduleBodySchema = z
  .strictObject({
    interval_seconds: z.int().min(60).max(31_536_000).nullable().meta({ description: 'Null: no schedule.' }),
    keep_count: bound(10_000, 'How many older ones stay, of those that the schedule made; null: all.'),
    keep_seconds: bound(3_153_600_000, 'How long older ones stay; null: for good.'),
  })
  .meta({ id: 'BackupSchedule' })

/** The path of one backup of a data volume. */
export const backupParams = z.strictObject({ project: nameSchema, name: nameSchema, backup: idSchema })

export type Backup = z.infer<typeof backupSchema>
export type BackupScheduleBody = z.infer<typeof backupScheduleBodySchema>
