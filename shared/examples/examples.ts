import type { OperationId } from '../routes.ts'
import { ACCESS_EXAMPLES } from './access.ts'
import { BACKUP_EXAMPLES } from './backups.ts'
import { BASE_EXAMPLES } from './bases.ts'
import { BOX_EXAMPLES } from './boxes.ts'
import { EDGE_EXAMPLES } from './edge.ts'
import { EVENT_EXAMPLES } from './events.ts'
import { EXEC_EXAMPLES } from './exec.ts'
import { FILE_EXAMPLES } from './files.ts'
import { HEALTH_EXAMPLES } from './health.ts'
import { OPERATION_EXAMPLES } from './operations.ts'
import { SERVICE_EXAMPLES } from './services.ts'
import { SNAPSHOT_EXAMPLES } from './snapshots.ts'
import { VOLUME_EXAMPLES } from './volumes.ts'

/** A request and an answer of an operation in the OpenAPI document. */
export interface Example {
  body?: unknown
  response?: unknown
}

/** One example for every operation. */
export const EXAMPLES: Record<OperationId, Example> = {
  ...HEALTH_EXAMPLES,
  ...ACCESS_EXAMPLES,
  ...OPERATION_EXAMPLES,
  ...BOX_EXAMPLES,
  ...SNAPSHOT_EXAMPLES,
  ...EXEC_EXAMPLES,
  ...SERVICE_EXAMPLES,
  ...EDGE_EXAMPLES,
  ...EVENT_EXAMPLES,
  ...FILE_EXAMPLES,
  ...VOLUME_EXAMPLES,
  ...BACKUP_EXAMPLES,
  ...BASE_EXAMPLES,
}
