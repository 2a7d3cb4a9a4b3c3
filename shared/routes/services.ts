import { define } from '../operation.ts'
import { boxParams } from '../schemas/boxes.ts'
import { waitQuery } from '../schemas/common.ts'
import {
  putServiceBodySchema,
  serviceListQuery,
  serviceListSchema,
  serviceLogsQuery,
  serviceLogsSchema,
  serviceParams,
  serviceSchema,
} from '../schemas/services.ts'

const SERVICES = '/v1/projects/{project}/boxes/{name}/services'
const SERVICE = `${SERVICES}/{service}`

/** Long-lived programs of boxes. */
export const serviceOperations = {
  listServices: define({
    id: 'listServices',
    method: 'GET',
    path: SERVICES,
    summary: 'List the services of a box by name',
    permission: 'read',
    params: boxParams,
    query: serviceListQuery,
    response: serviceListSchema,
    errors: ['box_not_found'],
  }),
  putService: define({
    id: 'putService',
    method: 'PUT',
    path: SERVICE,
    summary: 'Define a service and start it, or change what its next start uses',
    permission: 'exec',
    params: serviceParams,
    query: waitQuery,
    body: putServiceBodySchema,
    response: serviceSchema,
    laterStatus: 201,
    errors: ['box_not_found', 'environment_reserved', 'quota_exceeded'],
  }),
  getService: define({
    id: 'getService',
    method: 'GET',
    path: SERVICE,
    summary: 'Get a service as it is now',
    permission: 'read',
    params: serviceParams,
    response: serviceSchema,
    errors: ['box_not_found', 'service_not_found'],
  }),
  deleteService: define({
    id: 'deleteService',
    method: 'DELETE',
    path: SERVICE,
    summary: 'End a service and forget it, with its log',
    permission: 'exec',
    params: serviceParams,
    response: null,
    status: 204,
    errors: ['box_not_found', 'service_not_found'],
  }),
  startService: define({
    id: 'startService',
    method: 'POST',
    path: `${SERVICE}/start`,
    summary: 'Start a service, now and whenever its box starts',
    permission: 'exec',
    params: serviceParams,
    query: waitQuery,
    response: serviceSchema,
    laterStatus: 202,
    errors: ['box_not_found', 'service_not_found', 'box_not_running'],
  }),
  stopService: define({
    id: 'stopService',
    method: 'POST',
    path: `${SERVICE}/stop`,
    summary: 'Stop a service until it is started again, whatever becomes of its box',
    permission: 'exec',
    params: serviceParams,
    query: waitQuery,
    response: serviceSchema,
    laterStatus: 202,
    errors: ['box_not_found', 'service_not_found'],
  }),
  getServiceLogs: define({
    id: 'getServiceLogs',
    method: 'GET',
    path: `${SERVICE}/logs`,
    summary: 'Read what a service wrote, over its restarts',
    permission: 'exec',
    params: serviceParams,
    query: serviceLogsQuery,
    response: serviceLogsSchema,
    errors: ['box_not_found', 'service_not_found'],
  }),
} as const
