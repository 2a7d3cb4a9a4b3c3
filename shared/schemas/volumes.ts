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

const attachmentSchema = z.looseObject({
  box: nameSchema,
  path: z.string().meta({ description: 'Where it is mounted in the box.' }),
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
        'What `size_gb` bounds: bytes written to it that are still kept, also by its snapshots; what a copy or a restored volume took over is free. Measured at the call; null where the data is missing.',
    }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
    attachments: z.array(attachmentSchema).meta({ description: 'The boxes that have it; one at most writes to it.' }),
    from: z
      .string()
      .nullable()
      .meta({ description: 'What it was made from: `name`, `name@snapshot`, or `backup:<id>`; null: empty.' }),
    backup_schedule: z
      .looseObject({ interval_seconds: z.int(), keep_count: z.int().nullable(), keep_seconds: z.int().nullable() })
      .nullable(),
    tags: tagsSchema,
  })
  .meta({ id: 'Volume' })

/** `POST P/data`. */
export const createVolumeBodySchema = z
  .strictObject({
    name: nameSchema,
    size_gb: gibSchema
      .optional()
      .meta({ description: 'If left out that of the volume in `from`, else the default of `GET /v1/config`.' }),
    from: nameSchema.optional().meta({ description: 'A volume of the project to copy, as it is now.' }),
    from_snapshot: nameSchema.optional().meta({ description: 'A snapshot of that volume to copy instead.' }),
    from_backup: idSchema.optional().meta({ description: 'A backup of the project that the backup store holds.' }),
    tags: tagsSchema.optional(),
  })
  .meta({ id: 'CreateVolume' })

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
