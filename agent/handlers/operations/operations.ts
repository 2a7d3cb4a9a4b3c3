import type { Operations } from '../../core/operations/operations.ts'
import type { Handlers } from '../common/call.ts'
import { viewOperation } from './view.ts'

/** Handles operations. */
export function createOperationHandlers({ operations }: { operations: Operations }): Pick<Handlers, 'getOperation'> {
  return {
    getOperation: async ({ params, query, caller }) => ({
      body: viewOperation(await operations.get(caller, params.operation, query.wait_seconds * 1000)),
    }),
  }
}
