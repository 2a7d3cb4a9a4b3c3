import type { Operation } from './operation.ts'
import { backupOperations } from './routes/backups.ts'
import { baseOperations } from './routes/bases.ts'
import { boxSnapshotOperations } from './routes/box-snapshots.ts'
import { boxOperations } from './routes/boxes.ts'
import { eventOperations } from './routes/events.ts'
import { execOperations } from './routes/exec.ts'
import { fileOperations } from './routes/files.ts'
import { metricsOperations } from './routes/metrics.ts'
import { spaceOperations } from './routes/pool.ts'
import { publishingOperations } from './routes/publishing.ts'
import { serviceOperations } from './routes/services.ts'
import { snapshotDiffOperations } from './routes/snapshot-diff.ts'
import { streamOperations } from './routes/streams.ts'
import { systemOperations } from './routes/system.ts'
import { volumeSnapshotOperations } from './routes/volume-snapshots.ts'
import { storageOperations } from './routes/volumes.ts'

/** Every operation by its id. */
export const operations = {
  ...systemOperations,
  ...boxOperations,
  ...boxSnapshotOperations,
  ...snapshotDiffOperations,
  ...execOperations,
  ...serviceOperations,
  ...publishingOperations,
  ...metricsOperations,
  ...eventOperations,
  ...streamOperations,
  ...fileOperations,
  ...storageOperations,
  ...backupOperations,
  ...spaceOperations,
  ...volumeSnapshotOperations,
  ...baseOperations,
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof operations

/** Every operation, in the order of the document. */
export const OPERATIONS: readonly Operation[] = Object.values(operations)

/** The operations that are WebSockets. */
export type StreamId = {
  [K in OperationId]: (typeof operations)[K]['transport'] extends 'websocket' ? K : never
}[OperationId]
