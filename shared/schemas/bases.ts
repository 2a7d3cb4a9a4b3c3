import * as z from 'zod'
import {
  booleanQuery,
  idSchema,
  nameSchema,
  pageFields,
  pageQuery,
  prefixQuery,
  timestampSchema,
  waitQuery,
} from './common.ts'
import { unpackReportSchema } from './files.ts'

const SHARED = { description: 'Whether it is one that all projects share: needs `admin` on all projects.' }

/** A base template (docs/api/resources.md#base): all fields but `unpacked` are always present. */
export const baseSchema = z
  .looseObject({
    id: idSchema,
    name: nameSchema,
    project: nameSchema.nullable().meta({ description: 'Null: all projects share it.' }),
    version: z.int().meta({ description: 'One above the last of that name; never given again.' }),
    size_bytes: z.int().nullable().meta({ description: 'What it refers to; null until it was counted.' }),
    created_at: timestampSchema,
    source: z
      .string()
      .meta({ description: '`host`, `box:<name>`, `box:<name>@<snapshot>`, `tar`, `oci`, `oci:<reference>`.' }),
    used_by: z
      .looseObject({ boxes: z.array(z.looseObject({ project: nameSchema, name: nameSchema })), count: z.int() })
      .nullable()
      .meta({ description: 'The first 100 boxes of your projects that were made from it; null in lists.' }),
    unpacked: unpackReportSchema.optional().meta({ description: 'What became of the archive, as it was just made.' }),
  })
  .meta({ id: 'Base' })

/** `POST P/bases`: exactly one of `box` and `image`. */
export const createBaseBodySchema = z
  .strictObject({
    name: nameSchema,
    box: nameSchema.optional().meta({ description: 'The box whose root it is made from, as that is now.' }),
    snapshot: nameSchema.optional().meta({ description: 'Or as it was in this snapshot.' }),
    image: z.string().min(1).max(512).optional().meta({
      description: 'Or the reference of an image that its registry gives to everybody, such as `debian:12`.',
    }),
    shared: z.boolean().optional().meta(SHARED),
  })
  .refine(({ box, image, snapshot }) => (image === undefined ? box : (box ?? snapshot) === undefined), {
    error: 'exactly one of box and image is needed, and a snapshot only with a box',
  })
  .meta({ id: 'CreateBase' })

/** The query of `POST P/bases`; for an archive it carries the fields of the JSON body. */
export const createBaseQuery = z.strictObject({
  name: nameSchema.optional().meta({ description: 'With an archive: the name of the base.' }),
  shared: booleanQuery(false, `With an archive. ${SHARED.description}`),
  image: booleanQuery(false, 'Whether the archive is that of an image: an OCI image layout, or of `docker save`.'),
  ...waitQuery.shape,
})

/** `GET P/bases` and `GET /v1/bases`. */
export const baseListSchema = z.looseObject({ bases: z.array(baseSchema), ...pageFields }).meta({ id: 'BaseList' })

/** The query of lists of bases. */
export const baseListQuery = pageQuery.extend({ prefix: prefixQuery })

/** The path of one base. */
export const baseParams = z.strictObject({ project: nameSchema, base: nameSchema })

/** Selects the base among those of that name. */
export const baseQuery = z.strictObject({
  shared: booleanQuery(false, 'Whether the one is meant that all projects share, though the project has one as well.'),
})

export type Base = z.infer<typeof baseSchema>
export type BaseListQuery = z.output<typeof baseListQuery>
