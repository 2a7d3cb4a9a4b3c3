import { define } from '../operation.ts'
import { eventListSchema, eventParams, eventQuery } from '../schemas/events.ts'

/** What becomes of resources, as it happens. */
export const eventOperations = {
  listEvents: define({
    id: 'listEvents',
    method: 'GET',
    path: '/v1/projects/{project}/events',
    summary: 'Read what became of the resources of a project, in order, and wait for more',
    permission: 'read',
    params: eventParams,
    query: eventQuery,
    response: eventListSchema,
    errors: ['cursor_expired'],
  }),
} as const
