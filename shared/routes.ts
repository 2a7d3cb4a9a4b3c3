import type { Operation } from './operation.ts'
import { accessOperations } from './routes/access.ts'
import { backupOperations } from './routes/backups.ts'
import { baseOperations } from './routes/bases.ts'
import { boxOperations } from './routes/boxes.ts'
import { edgeOperations } from './routes/edge.ts'
import { eventOperations } from './routes/events.ts'
import { execOperations } from './routes/exec.ts'
import { fileOperations } from './routes/files.ts'
import { healthOperations } from './routes/health.ts'
import { operationOperations } from './routes/operations.ts'
import { serviceOperations } from './routes/services.ts'
import { snapshotOperations } from './routes/snapshots.ts'
import { volumeOperations } from './routes/volumes.ts'

/** Every operation by its id. */
export const operations = {
  ...healthOperations,
  ...accessOperations,
  ...operationOperations,
  ...boxOperations,
  ...snapshotOperations,
  ...execOperations,
  ...serviceOperations,
  ...edgeOperations,
  ...eventOperations,
  ...fileOperations,
  ...volumeOperations,
  ...backupOperations,
  ...baseOperations,
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof operations

/** Every operation, in the order of the document. */
export const OPERATIONS: readonly Operation[] = Object.values(operations)

/** The operations that are WebSockets. */
export type StreamId = {
  [K in OperationId]: (typeof operations)[K]['transport'] extends 'websocket' ? K : never
}[OperationId]
