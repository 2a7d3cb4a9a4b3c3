import * as z from 'zod'
import { define } from '../operation.ts'
import {
  baseListQuery,
  baseListSchema,
  baseParams,
  baseQuery,
  baseSchema,
  createBaseBodySchema,
  createBaseQuery,
} from '../schemas/bases.ts'
import { nameSchema, projectOrAllSchema } from '../schemas/common.ts'
import { operationSchema } from '../schemas/operations.ts'

const BASES = '/v1/projects/{project}/bases'

/** Bases, from which clients create boxes. */
export const baseOperations = {
  createBase: define({
    id: 'createBase',
    method: 'POST',
    path: BASES,
    owner: 'project',
    summary: 'Create a base',
    details: 'Sources: the root of a box, a snapshot of it, the tar of a root filesystem, or an image.',
    permission: 'write',
    params: z.strictObject({ project: nameSchema }),
    query: createBaseQuery,
    body: createBaseBodySchema,
    bytesIn: 'application/x-tar',
    response: baseSchema,
    status: 201,
    laterStatus: 202,
    laterResponse: operationSchema,
    maxBodyBytes: 6 * 1024 * 1024,
    errors: [
      ...(['box_not_found', 'snapshot_not_found', 'box_busy', 'name_taken'] as const),
      ...(['quota_exceeded', 'body_too_large', 'storage_full'] as const),
    ],
  }),
  listBases: define({
    id: 'listBases',
    method: 'GET',
    path: BASES,
    owner: 'project',
    summary: 'List the bases of a project',
    details: 'Ordered by name.',
    permission: 'read',
    params: z.strictObject({ project: projectOrAllSchema }),
    query: baseListQuery,
    response: baseListSchema,
  }),
  listSharedBases: define({
    id: 'listSharedBases',
    method: 'GET',
    path: '/v1/bases',
    owner: 'fleet',
    summary: 'List shared bases',
    details: 'All projects can use them. Ordered by name.',
    permission: 'read',
    query: baseListQuery,
    response: baseListSchema,
  }),
  getBase: define({
    id: 'getBase',
    method: 'GET',
    path: `${BASES}/{base}`,
    owner: 'project',
    summary: 'Get a base',
    details: 'Returns the base that the name resolves to in the project: its own, or else the shared one.',
    permission: 'read',
    params: baseParams,
    query: baseQuery,
    response: baseSchema,
    errors: ['base_not_found'],
  }),
  deleteBase: define({
    id: 'deleteBase',
    method: 'DELETE',
    path: `${BASES}/{base}`,
    owner: 'project',
    summary: 'Delete a base',
    details: 'Also cancels its creation. Boxes created from it stay as they are.',
    permission: 'write',
    params: baseParams,
    query: baseQuery,
    response: null,
    status: 204,
    errors: ['base_not_found'],
  }),
} as const
