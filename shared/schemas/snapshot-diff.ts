import * as z from 'zod'
import { nameSchema, pageFields, pageQuery } from './common.ts'

/** The query of `GET B/snapshots/{snapshot}/diff`. */
export const snapshotDiffQuery = pageQuery.extend({
  to: nameSchema
    .default('live')
    .meta({ description: 'Another snapshot of the box; `live`: the box as it is now.', override: { default: 'live' } }),
  continuation_token: z.string().max(32_768).optional().meta({ description: 'From the page before.' }),
})

const changeSchema = z.looseObject({
  kind: z.enum(['added', 'modified', 'deleted', 'renamed']),
  path: z.string().meta({ description: 'In the later state; where it was, if deleted. U+FFFD for what is no UTF-8.' }),
  path_base64: z.string().nullable(),
  from: z.string().nullable().meta({ description: 'Where it was, if renamed; all below it moved with it.' }),
  from_base64: z.string().nullable(),
  modified: z.boolean().meta({ description: 'Of what was renamed: whether it was modified besides.' }),
  type: z.string(),
  size_bytes: z.number(),
})

/** `GET B/snapshots/{snapshot}/diff`: in the order of the paths' bytes. */
export const snapshotDiffSchema = z
  .looseObject({ changes: z.array(changeSchema), ...pageFields })
  .meta({ id: 'SnapshotDiff' })

export type SnapshotDiffQuery = z.infer<typeof snapshotDiffQuery>
