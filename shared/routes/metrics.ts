import { define } from '../operation.ts'
import { boxParams } from '../schemas/boxes.ts'
import { boxMetricsSchema } from '../schemas/metrics.ts'

/** What is measured. */
export const metricsOperations = {
  getBoxMetrics: define({
    id: 'getBoxMetrics',
    method: 'GET',
    path: '/v1/projects/{project}/boxes/{name}/metrics',
    summary: 'What a box uses now, from the counters of the kernel',
    permission: 'read',
    params: boxParams,
    response: boxMetricsSchema,
    errors: ['box_not_found'],
  }),
} as const
