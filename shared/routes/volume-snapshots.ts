import { define } from '../operation.ts'
import { waitQuery } from '../schemas/common.ts'
import {
  createSnapshotBodySchema,
  restoreBodySchema,
  snapshotListQuery,
  snapshotListSchema,
  snapshotParams,
  snapshotSchema,
} from '../schemas/snapshots.ts'
import { volumeParams, volumeSchema } from '../schemas/volumes.ts'

const VOLUME = '/v1/projects/{project}/data/{name}'

/** Snapshots of data volumes, and going back to them. */
export const volumeSnapshotOperations = {
  createVolumeSnapshot: define({
    id: 'createVolumeSnapshot',
    method: 'POST',
    path: `${VOLUME}/snapshots`,
    summary: 'Keep what a data volume holds now, whoever uses it',
    permission: 'write',
    params: volumeParams,
    query: waitQuery,
    body: createSnapshotBodySchema,
    response: snapshotSchema,
    status: 201,
    errors: ['volume_not_found', 'name_taken', 'quota_exceeded', 'storage_full'],
  }),
  listVolumeSnapshots: define({
    id: 'listVolumeSnapshots',
    method: 'GET',
    path: `${VOLUME}/snapshots`,
    summary: 'List the snapshots of a data volume, oldest first',
    permission: 'read',
    params: volumeParams,
    query: snapshotListQuery,
    response: snapshotListSchema,
    errors: ['volume_not_found'],
  }),
  getVolumeSnapshot: define({
    id: 'getVolumeSnapshot',
    method: 'GET',
    path: `${VOLUME}/snapshots/{snapshot}`,
    summary: 'Get a snapshot of a data volume, with its sizes',
    permission: 'read',
    params: snapshotParams,
    response: snapshotSchema,
    errors: ['volume_not_found', 'snapshot_not_found'],
  }),
  deleteVolumeSnapshot: define({
    id: 'deleteVolumeSnapshot',
    method: 'DELETE',
    path: `${VOLUME}/snapshots/{snapshot}`,
    summary: 'Delete a snapshot of a data volume; what was made from it stays',
    permission: 'write',
    params: snapshotParams,
    query: waitQuery,
    response: null,
    status: 204,
    errors: ['volume_not_found', 'snapshot_not_found'],
  }),
  restoreVolume: define({
    id: 'restoreVolume',
    method: 'POST',
    path: `${VOLUME}/restore`,
    summary: 'Give a data volume the data of its snapshot; boxes that have it go on running',
    permission: 'write',
    params: volumeParams,
    query: waitQuery,
    body: restoreBodySchema,
    response: volumeSchema,
    errors: [
      ...(['volume_not_found', 'snapshot_not_found', 'volume_busy', 'volume_in_use'] as const),
      ...(['box_busy', 'storage_full'] as const),
    ],
  }),
} as const
