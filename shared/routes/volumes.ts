import * as z from 'zod'
import { define } from '../operation.ts'
import { boxSchema } from '../schemas/boxes.ts'
import { nameSchema, projectOrAllSchema, waitQuery } from '../schemas/common.ts'
import { operationSchema } from '../schemas/operations.ts'
import {
  attachBodySchema,
  createVolumeBodySchema,
  detachBodySchema,
  updateVolumeBodySchema,
  volumeListQuery,
  volumeListSchema,
  volumeParams,
  volumeSchema,
} from '../schemas/volumes.ts'

const VOLUME = '/v1/projects/{project}/data/{name}'

/** Data volumes, and the boxes they are attached to. */
export const volumeOperations = {
  createVolume: define({
    id: 'createVolume',
    method: 'POST',
    path: '/v1/projects/{project}/data',
    summary: 'Create a data volume, empty, from another or from a backup',
    permission: 'write',
    params: z.strictObject({ project: nameSchema }),
    query: waitQuery,
    body: createVolumeBodySchema,
    response: volumeSchema,
    status: 201,
    laterStatus: 202,
    laterResponse: operationSchema,
    errors: [
      ...(['name_taken', 'volume_not_found', 'snapshot_not_found'] as const),
      ...(['backup_not_found', 'backup_damaged'] as const),
      ...(['volume_too_small', 'quota_exceeded', 'storage_full'] as const),
    ],
  }),
  listVolumes: define({
    id: 'listVolumes',
    method: 'GET',
    path: '/v1/projects/{project}/data',
    summary: 'List data volumes by name',
    permission: 'read',
    params: z.strictObject({ project: projectOrAllSchema }),
    query: volumeListQuery,
    response: volumeListSchema,
  }),
  getVolume: define({
    id: 'getVolume',
    method: 'GET',
    path: VOLUME,
    summary: 'Get a data volume',
    permission: 'read',
    params: volumeParams,
    response: volumeSchema,
    errors: ['volume_not_found'],
  }),
  updateVolume: define({
    id: 'updateVolume',
    method: 'PUT',
    path: VOLUME,
    summary: 'Grow, shrink or tag a data volume',
    permission: 'write',
    params: volumeParams,
    query: waitQuery,
    body: updateVolumeBodySchema,
    response: volumeSchema,
    errors: ['volume_not_found', 'below_use', 'quota_exceeded'],
  }),
  deleteVolume: define({
    id: 'deleteVolume',
    method: 'DELETE',
    path: VOLUME,
    summary: 'Delete a data volume that no box has',
    permission: 'write',
    params: volumeParams,
    query: waitQuery,
    response: null,
    status: 204,
    errors: ['volume_not_found', 'volume_in_use'],
  }),
  attachVolume: define({
    id: 'attachVolume',
    method: 'POST',
    path: `${VOLUME}/attach`,
    summary: 'Attach a data volume to a running or stopped box',
    permission: 'write',
    params: volumeParams,
    query: waitQuery,
    body: attachBodySchema,
    response: boxSchema,
    outcome: 'data attached',
    errors: [
      ...(['volume_not_found', 'box_not_found', 'volume_in_use', 'mount_path_taken'] as const),
      ...(['path_invalid', 'storage_full', 'box_busy', 'quota_exceeded'] as const),
    ],
  }),
  detachVolume: define({
    id: 'detachVolume',
    method: 'POST',
    path: `${VOLUME}/detach`,
    summary: 'Detach a data volume from a box without a restart',
    permission: 'write',
    params: volumeParams,
    query: waitQuery,
    body: detachBodySchema,
    response: boxSchema,
    outcome: 'data detached',
    errors: ['volume_not_found', 'box_not_found', 'not_attached', 'volume_busy', 'box_busy'],
  }),
} as const
