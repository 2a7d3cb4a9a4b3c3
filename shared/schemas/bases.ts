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
import { forbid, notExactlyOne, together } from './field-rules.ts'
import { unpackReportSchema } from './files.ts'

const SHARED = { description: 'Shares the base with all projects. Requires `admin` on all projects.' }

/** A base template (docs/api/resources.md#base). All fields but `unpacked` are always present. */
export const baseSchema = z
  .looseObject({
    id: idSchema,
    name: nameSchema,
    project: nameSchema.nullable().meta({ description: 'Project that owns the base. Null for a shared base.' }),
    version: z.int().meta({ description: 'Increases by one with each base of this name, and is never reused.' }),
    size_bytes: z.int().nullable().meta({ description: 'Compressed size, in bytes. Null until it is counted.' }),
    created_at: timestampSchema,
    source: z
      .string()
      .meta({ description: '`host`, `box:<name>`, `box:<name>@<snapshot>`, `tar`, `oci`, `oci:<reference>`.' }),
    used_by: z
      .looseObject({
        boxes: z.array(z.looseObject({ project: nameSchema, name: nameSchema })),
        count: z.int().meta({ description: 'Total number of such boxes, including those beyond the first 100.' }),
      })
      .nullable()
      .meta({ description: 'The first 100 boxes in your projects that were created from the base. Null in lists.' }),
    unpacked: unpackReportSchema
      .optional()
      .meta({ description: 'Report on unpacking the archive. Present only in the response that creates the base.' }),
  })
  .meta({ id: 'Base' })

/** `POST P/bases`, with exactly one of `box` and `image`. */
export const createBaseBodySchema = z
  .strictObject({
    name: nameSchema.meta({ description: 'Name of the base.' }),
    box: nameSchema.optional().meta({ description: 'Box whose current root becomes the base.' }),
    snapshot: nameSchema.optional().meta({ description: 'Snapshot of the box to use instead of its current root.' }),
    image: z.string().min(1).max(512).optional().meta({
      description: 'Reference of a public image to pull, such as `debian:12`.',
    }),
    shared: z.boolean().optional().meta(SHARED),
  })
  .refine(({ box, image, snapshot }) => (image === undefined ? box : (box ?? snapshot) === undefined), {
    error: 'exactly one of box and image is required, and a snapshot only with a box',
  })
  .meta({ id: 'CreateBase', override: forbid(...notExactlyOne('box', 'image'), together('image', 'snapshot')) })

/** The query of `POST P/bases`. For an archive it carries the fields of the JSON body. */
export const createBaseQuery = z.strictObject({
  name: nameSchema.optional().meta({ description: 'Name of the base. Use it with an archive.' }),
  shared: booleanQuery(false, `Use it with an archive. ${SHARED.description}`),
  image: booleanQuery(false, 'Reads the archive as an image: an OCI image layout or the output of `docker save`.'),
  ...waitQuery.shape,
})

/** `GET P/bases` and `GET /v1/bases`. */
export const baseListSchema = z.looseObject({ bases: z.array(baseSchema), ...pageFields }).meta({ id: 'BaseList' })

/** The query of lists of bases. */
export const baseListQuery = pageQuery.extend({ prefix: prefixQuery })

/** The path of one base. */
export const baseParams = z.strictObject({ project: nameSchema, base: nameSchema })

/** Selects the project's or the shared base of that name. */
export const baseQuery = z.strictObject({
  shared: booleanQuery(false, 'Selects the shared base, even if the project has a base of this name.'),
})

export type Base = z.infer<typeof baseSchema>
export type BaseListQuery = z.output<typeof baseListQuery>
