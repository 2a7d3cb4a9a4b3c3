import * as z from 'zod'
import {
  environmentSchema,
  idSchema,
  nameSchema,
  pageFields,
  pageQuery,
  tagsSchema,
  timestampSchema,
} from './common.ts'

/** The four states of a box, which are the buckets of the health report. */
export const boxStatusSchema = z.enum(['pending', 'running', 'stopped', 'unknown']).meta({ id: 'BoxStatus' })

/** Why a box is in its state (api.md §2, Box). */
export const boxReasonSchema = z
  .enum([
    'creating',
    'starting',
    'stopping',
    'restoring',
    'resizing',
    'deleting',
    'ready',
    'stopped_by_request',
    'exited',
    'out_of_memory',
    'failed',
    'host_lost',
  ])
  .meta({ id: 'BoxReason' })

/** Cores, memory and storage as a client asks for them; what is left out gets the deployment's default. */
export const boxConfigInputSchema = z
  .strictObject({
    cpus: z.number().min(0.05, 'must be at least 0.05').max(1024),
    ram_mb: z.int().min(16, 'must be at least 16').max(16_777_216),
    region: z.string().min(1).max(63).meta({ description: "The deployment's own region." }),
    storage_gb: z
      .number()
      .positive('must be greater than 0')
      .max(1_048_576)
      .meta({ description: 'GiB the box may write beyond what it inherited.' }),
  })
  .partial()
  .meta({ id: 'BoxConfigInput' })

/** Cores, memory (MiB), region and storage (GiB) of a box. */
export const boxConfigSchema = z
  .looseObject({ cpus: z.number(), ram_mb: z.int(), region: z.string(), storage_gb: z.number() })
  .meta({ id: 'BoxConfig' })

/** `POST P/boxes`. */
export const createBoxBodySchema = z
  .strictObject({
    name: nameSchema,
    base: nameSchema.optional().meta({ description: 'The default base of `GET /v1/config` if left out.' }),
    config: boxConfigInputSchema.optional(),
    environment: environmentSchema.optional(),
    tags: tagsSchema.optional(),
  })
  .meta({ id: 'CreateBox' })

const dataMountSchema = z.looseObject({ name: z.string(), path: z.string(), read_only: z.boolean() })

const urlSettingsSchema = z.looseObject({
  auth: z.enum(['token', 'public']),
  wake: z.boolean(),
  idle_stop_seconds: z.int().nullable(),
})

/** A box (api.md §2): all fields are always present. */
export const boxSchema = z
  .looseObject({
    id: idSchema,
    name: nameSchema,
    project: nameSchema,
    status: boxStatusSchema,
    state: z.looseObject({ reason: boxReasonSchema, message: z.string().nullable(), since: timestampSchema }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
    base: z.string().nullable(),
    fork_of: z.string().nullable(),
    node: z.string(),
    config: boxConfigSchema,
    data_mounts: z.array(dataMountSchema),
    environment: environmentSchema.meta({ description: 'Shown to tokens with `write`, else empty.' }),
    port: z.int().nullable(),
    published_domains: z.array(z.string()),
    tags: tagsSchema,
    termination_grace_period_seconds: z.int(),
    url: z.string().nullable(),
    url_settings: urlSettingsSchema,
  })
  .meta({ id: 'Box' })

/** `GET P/boxes`. */
export const boxListSchema = z.looseObject({ boxes: z.array(boxSchema), ...pageFields }).meta({ id: 'BoxList' })

/** The query of `GET P/boxes`; `tag` holds `key` or `key=value`, comma separated or repeated, all must match. */
export const boxListQuery = pageQuery.extend({
  prefix: z.string().max(63).optional().meta({ description: 'Names that start with this.' }),
  status: boxStatusSchema.optional(),
  tag: z
    .union([z.string().max(4096), z.array(z.string().max(4096)).max(64)])
    .refine((tag) => countTags(tag) <= 64, 'at most 64 tags')
    .optional()
    .meta({ description: '`key` or `key=value`, comma separated or repeated; all must match.' }),
})

/** The path of one box. */
export const boxParams = z.strictObject({ project: nameSchema, name: nameSchema })

export type Box = z.infer<typeof boxSchema>
export type BoxStatus = z.infer<typeof boxStatusSchema>
export type BoxReason = z.infer<typeof boxReasonSchema>
export type BoxConfig = z.infer<typeof boxConfigSchema>
export type CreateBoxBody = z.infer<typeof createBoxBodySchema>
export type BoxListQuery = z.infer<typeof boxListQuery>

function countTags(tag: string | string[]): number {
  return [tag].flat().flatMap((list) => list.split(',').filter((item) => item !== '')).length
}
