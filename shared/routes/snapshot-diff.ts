import { define } from '../operation.ts'
import { snapshotDiffQuery, snapshotDiffSchema } from '../schemas/snapshot-diff.ts'
import { snapshotParams } from '../schemas/snapshots.ts'

/** What changed between snapshots. */
export const snapshotDiffOperations = {
  diffBoxSnapshot: define({
    id: 'diffBoxSnapshot',
    method: 'GET',
    path: '/v1/projects/{project}/boxes/{name}/snapshots/{snapshot}/diff',
    summary: 'What changed on the disk of a box from one snapshot to another, or to now',
    permission: 'read',
    params: snapshotParams,
    query: snapshotDiffQuery,
    response: snapshotDiffSchema,
    errors: ['box_not_found', 'snapshot_not_found', 'path_invalid', 'body_too_large', 'storage_full'],
  }),
} as const
