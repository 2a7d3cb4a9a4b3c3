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

/** A data volume (docs/api/resources.md#volume). All fields are always present. */
export const volumeSchema = z
  .looseObject({
    id: idSchema,
    name: nameSchema,
    project: nameSchema,
    size_gb: z.number().meta({ description: 'Capacity in GiB, compressed.' }),
    used_bytes: z.int().nullable().meta({
      description:
        'Bytes that count against `size_gb`, measured at the time of the request; null if the data is missing. They include data that only its snapshots keep, but not data inherited from a copied or restored volume.',
    }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
    attachments: z.array(attachmentSchema).meta({ description: 'Boxes it is attached to. At most one can write.' }),
    from: z.string().nullable().meta({
      description: 'Source of the volume: `name`, `name@snapshot` or `backup:<id>`. Null if it was created empty.',
    }),
    backup_schedule: z
      .looseObject({
        interval_seconds: z.int().meta({ description: 'Seconds between the starts of two backups.' }),
        keep_count: z.int().nullable().meta({
          description: 'Number of older scheduled backups to keep in addition to the newest. Null keeps all.',
        }),
        keep_seconds: z
          .int()
          .nullable()
          .meta({ description: 'How long to keep older backups, in seconds. Null keeps them forever.' }),
      })
      .nullable()
      .meta({ description: 'Schedule of automatic backups. Null for none.' }),
    tags: tagsSchema.meta({ description: 'Tags that clients set. Filter lists with the `tag` parameter.' }),
  })
  .meta({ id: 'Volume' })

/** `POST P/data`. */
export const createVolumeBodySchema = z
  .strictObject({
    name: nameSchema.meta({ description: 'Name of the data volume.' }),
    size_gb: gibSchema.optional().meta({
      description: 'Size in GiB. Default: the size of the volume in `from`, or else the default of `GET /v1/config`.',
    }),
    from: nameSchema.optional().meta({ description: 'Volume of the project to copy, with its current data.' }),
    from_snapshot: nameSchema.optional().meta({ description: 'Snapshot of the `from` volume to copy instead.' }),
    from_backup: idSchema.optional().meta({ description: 'Backup of the project in the backup store.' }),
    tags: tagsSchema.optional(),
  })
  .meta({
    id: 'CreateVolume',
    override: forbid(together('from_backup', 'from'), together('from_backup', 'from_snapshot')),
  })

/** `PUT D`. An omitted field stays, and null resets it to its default. Read-only fields may be repeated unchanged. */
export const updateVolumeBodySchema = z
  .strictObject({
    size_gb: gibSchema.nullable().meta({ description: 'Capacity in GiB. Null resets it to the default.' }),
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
  .strictObject({
    box: nameSchema.meta({ description: 'Box to attach the volume to.' }),
    path: mountPathSchema,
    read_only: z.boolean().optional().meta({ description: 'Mounts the volume read-only. Default: false.' }),
  })
  .meta({ id: 'Attach' })

/** `POST D/detach`. */
export const detachBodySchema = z
  .strictObject({ box: nameSchema.meta({ description: 'Box to detach the volume from.' }) })
  .meta({ id: 'Detach' })

/** The path of one data volume. */
export const volumeParams = z.strictObject({ project: nameSchema, name: nameSchema })

export type Volume = z.infer<typeof volumeSchema>
export type CreateVolumeBody = z.infer<typeof createVolumeBodySchema>
export type UpdateVolumeBody = z.infer<typeof updateVolumeBodySchema>
export type VolumeListQuery = z.infer<typeof volumeListQuery>
export type AttachBody = z.infer<typeof attachBodySchema>
