import { define } from '../operation.ts'
import { boxParams, boxSchema } from '../schemas/boxes.ts'
import {
  portParams,
  publishBodySchema,
  publishServiceBodySchema,
  unpublishBodySchema,
  urlTicketBodySchema,
  urlTicketSchema,
} from '../schemas/edge.ts'
import { serviceParams, serviceSchema } from '../schemas/services.ts'

const BOX = '/v1/projects/{project}/boxes/{name}'
const SERVICE = `${BOX}/services/{service}`

/** Domains of boxes and services, and connections to their ports. */
export const edgeOperations = {
  publishBox: define({
    id: 'publishBox',
    method: 'POST',
    path: `${BOX}/publish`,
    owner: 'box',
    summary: 'Publish a box',
    details: 'Adds domains, and sets its port and access.',
    permission: 'write',
    params: boxParams,
    body: publishBodySchema,
    response: boxSchema,
    errors: ['box_not_found', 'domain_taken', 'domain_unverified', 'quota_exceeded'],
  }),
  unpublishBox: define({
    id: 'unpublishBox',
    method: 'POST',
    path: `${BOX}/unpublish`,
    owner: 'box',
    summary: 'Unpublish a box',
    details: 'Removes domains. The URL of the box itself stays.',
    permission: 'write',
    params: boxParams,
    body: unpublishBodySchema,
    response: boxSchema,
    errors: ['box_not_found'],
  }),
  publishService: define({
    id: 'publishService',
    method: 'POST',
    path: `${SERVICE}/publish`,
    owner: 'box',
    summary: 'Publish a service',
    details: 'Adds domains, which its active version serves.',
    permission: 'write',
    params: serviceParams,
    body: publishServiceBodySchema,
    response: serviceSchema,
    errors: ['box_not_found', 'service_not_found', 'domain_taken', 'domain_unverified', 'quota_exceeded'],
  }),
  unpublishService: define({
    id: 'unpublishService',
    method: 'POST',
    path: `${SERVICE}/unpublish`,
    owner: 'box',
    summary: 'Unpublish a service',
    details: 'Removes domains. The URL of the service itself stays.',
    permission: 'write',
    params: serviceParams,
    body: unpublishBodySchema,
    response: serviceSchema,
    errors: ['box_not_found', 'service_not_found'],
  }),
  createUrlTicket: define({
    id: 'createUrlTicket',
    method: 'POST',
    path: `${BOX}/url-tickets`,
    owner: 'box',
    summary: 'Create a ticket for a URL of a box',
    details:
      'A browser that opens the returned URL gets a session at that host, without a token. It works once, within 60 s.',
    permission: 'read',
    params: boxParams,
    body: urlTicketBodySchema,
    response: urlTicketSchema,
    status: 201,
    errors: ['box_not_found'],
  }),
  openPort: define({
    id: 'openPort',
    method: 'GET',
    path: `${BOX}/ports/{port}/ws`,
    owner: 'box',
    summary: 'Connect to a port of a box',
    details: 'Carries one TCP connection over a WebSocket.',
    permission: 'ports',
    params: portParams,
    response: null,
    status: 101,
    transport: 'websocket',
    errors: [
      ...['box_not_found', 'box_not_running', 'box_busy', 'port_not_listening', 'port_unreachable'],
      ...['quota_exceeded', 'runtime_unavailable', 'storage_full', 'upgrade_required'],
    ] as const,
  }),
} as const
