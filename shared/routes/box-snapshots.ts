import { define } from '../operation.ts'
import { boxParams, boxSchema } from '../schemas/boxes.ts'
import { waitQuery } from '../schemas/common.ts'
import {
  boxRestoreBodySchema,
  createBoxSnapshotBodySchema,
  snapshotListQuery,
  snapshotListSchema,
  snapshotParams,
  snapshotSchema,
} from '../schemas/snapshots.ts'

const BOX = '/v1/projects/{project}/boxes/{name}'
const SNAPSHOT = `${BOX}/snapshots/{snapshot}`

/** Checkpoints of boxes. */
export const boxSnapshotOperations = {
  createBoxSnapshot: define({
    id: 'createBoxSnapshot',
    method: 'POST',
    path: `${BOX}/snapshots`,
    summary: 'Snapshot the disk of a box, running or not, with its data volumes at the same instant if asked',
    permission: 'write',
    params: boxParams,
    query: waitQuery,
    body: createBoxSnapshotBodySchema,
    response: snapshotSchema,
    status: 201,
    errors: ['box_not_found', 'name_taken', 'box_busy', 'quota_exceeded', 'storage_full'],
  }),
  listBoxSnapshots: define({
    id: 'listBoxSnapshots',
    method: 'GET',
    path: `${BOX}/snapshots`,
    summary: 'List the snapshots of a box, oldest first',
    permission: 'read',
    params: boxParams,
    query: snapshotListQuery,
    response: snapshotListSchema,
    errors: ['box_not_found'],
  }),
  getBoxSnapshot: define({
    id: 'getBoxSnapshot',
    method: 'GET',
    path: SNAPSHOT,
    summary: 'Get a snapshot of a box, with the bytes that only it has',
    permission: 'read',
    params: snapshotParams,
    response: snapshotSchema,
    errors: ['box_not_found', 'snapshot_not_found'],
  }),
  deleteBoxSnapshot: define({
    id: 'deleteBoxSnapshot',
    method: 'DELETE',
    path: SNAPSHOT,
    summary: 'Delete a snapshot of a box; what was made from it stays',
    permission: 'write',
    params: snapshotParams,
    response: null,
    status: 204,
    errors: ['box_not_found', 'snapshot_not_found'],
  }),
  restoreBox: define({
    id: 'restoreBox',
    method: 'POST',
    path: `${BOX}/restore`,
    summary: 'Bring a box back to a snapshot; what it had becomes an automatic snapshot',
    permission: 'write',
    params: boxParams,
    query: waitQuery,
    body: boxRestoreBodySchema,
    response: boxSchema,
    laterStatus: 202,
    errors: [
      ...(['box_not_found', 'snapshot_not_found', 'volume_not_found', 'volume_in_use'] as const),
      ...(['box_busy', 'storage_full', 'runtime_unavailable'] as const),
    ],
  }),
} as const
