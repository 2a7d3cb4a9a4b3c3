import * as z from 'zod'
import { idSchema, nameSchema, pageFields, pageQuery, pathTokenSchema, prefixQuery, timestampSchema } from './common.ts'

/** A snapshot of a box's root or of a data volume (docs/api/resources.md#snapshot). All fields are always present. */
export const snapshotSchema = z
  .looseObject({
    id: idSchema,
    name: nameSchema,
    project: nameSchema,
    box: nameSchema
      .nullable()
      .meta({ description: 'Box whose root the snapshot holds. Null for a snapshot of a volume.' }),
    volume: nameSchema
      .nullable()
      .meta({ description: 'Volume whose data the snapshot holds. Null for a snapshot of a box.' }),
    comment: z.string().nullable(),
    created_at: timestampSchema,
    size_bytes: z
      .int()
      .nullable()
      .meta({ description: 'Compressed size in bytes, including `data`. Null until it is counted.' }),
    unique_bytes: z.int().nullable().meta({
      description: 'Bytes that only this snapshot holds. Null in lists, and in the response that creates it.',
    }),
    automatic: z.boolean().meta({ description: 'Whether a restore created it, to keep the state that it replaced.' }),
    data: z
      .array(
        z.looseObject({
          name: nameSchema,
          path: z.string().meta({ description: 'Mount path in the box at that time.' }),
          read_only: z.boolean(),
        }),
      )
      .meta({ description: 'Data volumes of the box, captured at the same instant.' }),
  })
  .meta({ id: 'Snapshot' })

/** `POST D/snapshots`. */
export const createSnapshotBodySchema = z
  .strictObject({
    name: nameSchema.optional().meta({ description: 'Name of the snapshot. Default: `v` and the next number.' }),
    comment: z
      .string()
      .max(1024)
      .regex(/^[^\0]*$/, 'must not hold a NUL character')
      .optional()
      .meta({ description: 'Free text about the snapshot.' }),
  })
  .meta({ id: 'CreateSnapshot' })

/** `POST D/restore` and `POST B/restore`. */
export const restoreBodySchema = z
  .strictObject({ snapshot: nameSchema.meta({ description: 'Name of the snapshot to restore.' }) })
  .meta({ id: 'Restore' })

/** `GET D/snapshots` and `GET B/snapshots`: oldest first. */
export const snapshotListSchema = z
  .looseObject({ snapshots: z.array(snapshotSchema), ...pageFields })
  .meta({ id: 'SnapshotList' })

/** The query of a list of snapshots. */
export const snapshotListQuery = pageQuery.extend({ prefix: prefixQuery })

/** The path of one snapshot of a box or data volume. */
export const snapshotParams = z.strictObject({ project: nameSchema, name: nameSchema, snapshot: nameSchema })

const includeData = z.boolean().optional()

/** `POST B/snapshots`. */
export const createBoxSnapshotBodySchema = createSnapshotBodySchema
  .extend({
    name: nameSchema
      .refine((name) => name !== 'live', 'must not be `live`, which means the current state of the box in a diff')
      .optional()
      .meta({ description: 'Name of the snapshot, not `live`. Default: `v` and the next number.' }),
    include_data: includeData.meta({ description: 'Includes the data volumes of the box. Default: false.' }),
  })
  .meta({ id: 'CreateBoxSnapshot' })

/** `POST B/restore`. */
export const boxRestoreBodySchema = restoreBodySchema
  .extend({
    include_data: includeData.meta({
      description: 'Also restores the data volumes that the box wrote to. Default: true if the snapshot holds them.',
    }),
  })
  .meta({ id: 'RestoreBox' })

/** The query of `GET B/snapshots/{snapshot}/diff`. */
export const snapshotDiffQuery = pageQuery.extend({
  to: nameSchema.default('live').meta({
    description: 'Another snapshot of the box, or `live` for its current disk.',
    override: { default: 'live' },
  }),
  continuation_token: pathTokenSchema,
})

const changeSchema = z.looseObject({
  kind: z.enum(['added', 'modified', 'deleted', 'renamed']),
  path: z.string().meta({
    description: 'Path in the later state, or the earlier path if deleted. U+FFFD replaces bytes that are not UTF-8.',
  }),
  path_base64: z.string().nullable().meta({ description: '`path` in base64, if it is not UTF-8. Null otherwise.' }),
  from: z
    .string()
    .nullable()
    .meta({ description: 'Earlier path if renamed, together with everything below it. Null otherwise.' }),
  from_base64: z.string().nullable().meta({ description: '`from` in base64, if it is not UTF-8. Null otherwise.' }),
  modified: z.boolean().meta({ description: 'Whether a renamed entry was also modified.' }),
  type: z.string().meta({ description: 'Type as in File, from the later state, or the earlier one if deleted.' }),
  size_bytes: z.number().meta({ description: 'Size as in File, from the later state, or the earlier one if deleted.' }),
})

/** `GET B/snapshots/{snapshot}/diff`: in the order of the paths' bytes. */
export const snapshotDiffSchema = z
  .looseObject({ changes: z.array(changeSchema), ...pageFields })
  .meta({ id: 'SnapshotDiff' })

export type Snapshot = z.infer<typeof snapshotSchema>
export type CreateSnapshotBody = z.infer<typeof createSnapshotBodySchema>
export type SnapshotListQuery = z.infer<typeof snapshotListQuery>
export type CreateBoxSnapshotBody = z.infer<typeof createBoxSnapshotBodySchema>
export type BoxRestoreBody = z.infer<typeof boxRestoreBodySchema>
export type SnapshotDiffQuery = z.infer<typeof snapshotDiffQuery>
