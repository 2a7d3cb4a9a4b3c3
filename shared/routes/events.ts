import { define } from '../operation.ts'
import {
  auditListSchema,
  auditQuery,
  eventListSchema,
  eventParams,
  eventQuery,
  eventSchema,
} from '../schemas/events.ts'

/** Events of resources, and the audit log. */
export const eventOperations = {
  listEvents: define({
    id: 'listEvents',
    method: 'GET',
    path: '/v1/projects/{project}/events',
    owner: 'project',
    summary: 'Read the events of a project',
    details: 'In order. Can wait for more events.',
    permission: 'read',
    params: eventParams,
    query: eventQuery,
    response: eventListSchema,
    bytesOut: 'text/event-stream',
    message: eventSchema,
    errors: ['cursor_expired'],
  }),
  listAudit: define({
    id: 'listAudit',
    method: 'GET',
    path: '/v1/audit',
    owner: 'fleet',
    summary: 'Read the audit log',
    details: 'Newest first.',
    permission: 'admin',
    query: auditQuery,
    response: auditListSchema,
  }),
} as const
