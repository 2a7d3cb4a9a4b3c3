import type { Operation } from './operation.ts'
import { boxOperations } from './routes/boxes.ts'
import { execOperations } from './routes/exec.ts'
import { storageOperations } from './routes/storage.ts'
import { systemOperations } from './routes/system.ts'

/** Every operation by its id. */
export const operations = {
  ...systemOperations,
  ...boxOperations,
  ...execOperations,
  ...storageOperations,
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof operations

/** Every operation, in the order of the document. */
export const OPERATIONS: readonly Operation[] = Object.values(operations)
