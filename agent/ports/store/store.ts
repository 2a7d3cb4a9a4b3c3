import type { BackupRecords } from './backups.ts'
import type { BaseStore } from './bases.ts'
import type { BoxStore } from './boxes.ts'
import type { EdgeGrantStore } from './edge-grants.ts'
import type { AuditStore, EventStore } from './events.ts'
import type { ExecStore } from './exec.ts'
import type { IdempotencyStore } from './idempotency.ts'
import type { OperationStore } from './operations.ts'
import type { ServiceStore } from './services.ts'
import type { SnapshotStore } from './snapshots.ts'
import type { TokenStore } from './tokens.ts'
import type { TombstoneStore } from './tombstones.ts'
import type { QuotaStore, VolumeStore } from './volumes.ts'

/**
 * Durable state. Every method that writes is committed, and survives a power cut, when it resolves. On a full disk it throws ServiceError
 * `storage_full`, except for deletions, such as of boxes and tombstones.
 */
export interface Store {
  /** As in `GET /v1/config`: `sqlite`. */
  readonly kind: string
  readonly boxes: BoxStore
  readonly volumes: VolumeStore
  readonly snapshots: SnapshotStore
  readonly services: ServiceStore
  readonly backups: BackupRecords
  readonly quotas: QuotaStore
  readonly tombstones: TombstoneStore
  readonly tokens: TokenStore
  readonly edgeGrants: EdgeGrantStore
  readonly operations: OperationStore
  readonly execs: ExecStore
  readonly bases: BaseStore
  readonly events: EventStore
  readonly audit: AuditStore
  readonly idempotency: IdempotencyStore
  readonly meta: MetaStore
  close(): Promise<void>
}

/** Details of the deployment by key. */
export interface MetaStore {
  get(key: string): Promise<string | null>
  /** Lists the entries whose keys begin with `prefix`. */
  list(prefix: string): Promise<{ key: string; value: string }[]>
  remove(key: string): Promise<void>
  set(key: string, value: string): Promise<void>
}
