import { define } from '../operation.ts'
import { operationParams, operationQuery, operationSchema } from '../schemas/operations.ts'

/** Mutations that outlived their wait. */
export const operationOperations = {
  getOperation: define({
    id: 'getOperation',
    method: 'GET',
    path: '/v1/operations/{operation}',
    owner: 'operation',
    summary: 'Get an operation',
    details: 'An operation tracks a mutation that outlived its wait.',
    permission: 'read',
    params: operationParams,
    query: operationQuery,
    response: operationSchema,
    errors: ['operation_not_found'],
  }),
} as const
