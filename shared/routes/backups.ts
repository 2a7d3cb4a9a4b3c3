import * as z from 'zod'
import { define } from '../operation.ts'
import {
  backupListSchema,
  backupParams,
  backupScheduleBodySchema,
  backupSchema,
  restoreBackupBodySchema,
} from '../schemas/backups.ts'
import { pageQuery, projectOrAllSchema, waitQuery } from '../schemas/common.ts'
import { operationSchema } from '../schemas/operations.ts'
import { volumeParams, volumeSchema } from '../schemas/volumes.ts'

const VOLUME = '/v1/projects/{project}/data/{name}'

/** Backups of data volumes to the configured store, and restores from it. */
export const backupOperations = {
  createBackup: define({
    id: 'createBackup',
    method: 'POST',
    path: `${VOLUME}/backups`,
    owner: 'volume',
    summary: 'Back up a data volume as it is now, also while it is in use',
    permission: 'write',
    params: volumeParams,
    query: waitQuery,
    response: backupSchema,
    status: 201,
    laterStatus: 202,
    laterResponse: operationSchema,
    errors: ['volume_not_found', 'path_invalid', 'volume_busy', 'quota_exceeded', 'storage_full'],
  }),
  listBackups: define({
    id: 'listBackups',
    method: 'GET',
    path: `${VOLUME}/backups`,
    owner: 'volume',
    summary: 'List the backups of a data volume, oldest first',
    permission: 'read',
    params: volumeParams,
    query: pageQuery,
    response: backupListSchema,
    errors: ['volume_not_found'],
  }),
  getBackup: define({
    id: 'getBackup',
    method: 'GET',
    path: `${VOLUME}/backups/{backup}`,
    owner: 'volume',
    summary: 'Get a backup, also of a deleted data volume',
    permission: 'read',
    params: backupParams,
    response: backupSchema,
    errors: ['backup_not_found', 'backup_damaged'],
  }),
  deleteBackup: define({
    id: 'deleteBackup',
    method: 'DELETE',
    path: `${VOLUME}/backups/{backup}`,
    owner: 'volume',
    summary: 'Delete a backup; its objects stay in the store for as long as another builds on them',
    permission: 'write',
    params: backupParams,
    query: waitQuery,
    response: null,
    status: 204,
    errors: ['backup_not_found', 'backup_damaged'],
  }),
  restoreBackup: define({
    id: 'restoreBackup',
    method: 'POST',
    path: `${VOLUME}/backups/{backup}/restore`,
    owner: 'volume',
    summary: 'Restore a backup as a new data volume, or over the volume itself',
    permission: 'write',
    params: backupParams,
    query: waitQuery,
    body: restoreBackupBodySchema,
    response: volumeSchema,
    laterStatus: 202,
    laterResponse: operationSchema,
    errors: [
      ...(['backup_not_found', 'backup_damaged', 'name_taken', 'quota_exceeded', 'storage_full'] as const),
      ...(['volume_not_found', 'volume_too_small', 'volume_busy', 'volume_in_use', 'box_busy'] as const),
    ],
  }),
  updateBackupSchedule: define({
    id: 'updateBackupSchedule',
    method: 'PUT',
    path: `${VOLUME}/backup-schedule`,
    owner: 'volume',
    summary: 'Schedule backups of a data volume, and bound how many are kept',
    permission: 'write',
    params: volumeParams,
    body: backupScheduleBodySchema,
    response: volumeSchema,
    errors: ['volume_not_found'],
  }),
  listStoredBackups: define({
    id: 'listStoredBackups',
    method: 'GET',
    path: '/v1/projects/{project}/backups',
    owner: 'project',
    summary:
      'List what the backup store holds, also of deleted volumes and of deployments whose key is known, oldest first',
    permission: 'read',
    params: z.strictObject({ project: projectOrAllSchema }),
    query: pageQuery,
    response: backupListSchema,
  }),
} as const
