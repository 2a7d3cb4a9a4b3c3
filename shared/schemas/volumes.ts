import * as z from 'zod'
import {
  gibSchema,
  idSchema,
  MEASURED,
  mountPathSchema,
  nameSchema,
  pageFields,
  pageQuery,
  prefixQuery,
  readOnlyFields,
  tagQuery,
  tagsSchema,
  timestampSchema,
} from './common.ts'
import { forbid, together } from './field-rules.ts'

const attachmentSchema = z.looseObject({
  box: nameSchema,
  path: z.string().meta({ description: 'Mount path in the box.' }),
  read_only: z.boolean(),
})

/** A data volume (docs/api/resources.md#volume): all fields are always present. */
export const volumeSchema = z
  .looseObject({
    id: idSchema,
    name: nameSchema,
    project: nameSchema,
    size_gb: z.number().meta({ description: 'GiB it may hold, compressed.' }),
    used_bytes: z.int().nullable().meta({
      description:
        'Bytes that `size_gb` bounds: written to it and still kept, also by its snapshots, without those that a copy or a restored volume took over. Measured at the call; null if the data is missing.',
    }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
    attachments: z.array(attachmentSchema).meta({ description: 'Boxes it is attached to; at most one writes to it.' }),
    from: z
      .string()
      .nullable()
      .meta({ description: 'Source: `name`, `name@snapshot` or `backup:<id>`; null if it was created empty.' }),
    backup_schedule: z
      .looseObject({
        interval_seconds: z.int().meta({ description: 'Seconds from the start of one backup to that of the next.' }),
        keep_count: z
          .int()
          .nullable()
          .meta({ description: 'Number of older backups of the schedule that are kept beside the newest; null: all.' }),
        keep_seconds: z
          .int()
          .nullable()
          .meta({ description: 'Seconds for which older ones are kept; null: for ever.' }),
      })
      .nullable()
      .meta({ description: 'Schedule of automatic backups; null: none.' }),
    tags: tagsSchema.meta({ description: 'Set by clients; `tag` of a list selects by them.' }),
  })
  .meta({ id: 'Volume' })

/** `POST P/data`. */
export const createVolumeBodySchema = z
  .strictObject({
    name: nameSchema,
    size_gb: gibSchema
      .optional()
      .meta({ description: 'By default that of the volume in `from`, else that of `GET /v1/config`.' }),
    from: nameSchema.optional().meta({ description: 'A volume of the project to copy, as it is now.' }),
    from_snapshot: nameSchema.optional().meta({ description: 'A snapshot of that volume to copy instead.' }),
    from_backup: idSchema.optional().meta({ description: 'A backup of the project that the backup store holds.' }),
    tags: tagsSchema.optional(),
  })
  .meta({
    id: 'CreateVolume',
    override: forbid(together('from_backup', 'from'), together('from_backup', 'from_snapshot')),
  })

/** `PUT D`: a field left out stays, null resets it to its default; read-only fields may be repeated as they are. */
export const updateVolumeBodySchema = z
  .strictObject({
    size_gb: gibSchema.nullable(),
    tags: tagsSchema.nullable(),
    used_bytes: z.int().nullable().meta(MEASURED),
    ...readOnlyFields(['id', 'name', 'project', 'created_at', 'updated_at', 'attachments', 'from', 'backup_schedule']),
  })
  .partial()
  .meta({ id: 'UpdateVolume' })

/** `GET P/data`. */
export const volumeListSchema = z
  .looseObject({ volumes: z.array(volumeSchema), ...pageFields })
  .meta({ id: 'VolumeList' })

/** The query of `GET P/data`. */
export const volumeListQuery = pageQuery.extend({ prefix: prefixQuery, tag: tagQuery })

/** `POST D/attach`. */
export const attachBodySchema = z
  .strictObject({ box: nameSchema, path: mountPathSchema, read_only: z.boolean().optional() })
  .meta({ id: 'Attach' })

/** `POST D/detach`. */
export const detachBodySchema = z.strictObject({ box: nameSchema }).meta({ id: 'Detach' })

/** The path of one data volume. */
export const volumeParams = z.strictObject({ project: nameSchema, name: nameSchema })

export type Volume = z.infer<typeof volumeSchema>
export type CreateVolumeBody = z.infer<typeof createVolumeBodySchema>
export type UpdateVolumeBody = z.infer<typeof updateVolumeBodySchema>
export type VolumeListQuery = z.infer<typeof volumeListQuery>
export type AttachBody = z.infer<typeof attachBodySchema>
