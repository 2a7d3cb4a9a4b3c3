import type { ErrorCode } from '../../../shared/errors.ts'
import type { BoxConfig, BoxReason, BoxStatus } from '../../../shared/schemas/boxes.ts'
import type { KeyedAnswer } from './idempotency.ts'
import type { NewSnapshot } from './snapshots.ts'
import type { Tombstone } from './tombstones.ts'
import type { NamedQuery } from './volumes.ts'

/** A box as it is stored: its desired and observed state, and a version that each write raises. Times in ms since the epoch. */
export interface BoxRecord {
  id: string
  project: string
  name: string
  /** Raised by one at every write, and used as the ETag. */
  version: number
  createdAt: number
  updatedAt: number
  /** The name of the base it was made from. */
  base: string | null
  /** The id of that base. Null: unknown. */
  baseId: string | null
  forkOf: string | null
  /** The subvolume of its root. */
  root: string
  /** `cause` is set for a stop which no request asked for. */
  desired: { power: 'running' | 'stopped'; generation: number; cause?: 'idle' }
  observed: BoxObserved
  config: BoxConfig
  environment: Record<string, string>
  tags: Record<string, string>
  port: number | null
  /** How its URL speaks to that port. Absent: HTTP/1.1. */
  protocol?: 'h2c' | undefined
  /** The domains at which it is published, beside its own. Each belongs to one box, or one service, of the deployment. */
  domains: string[]
  gracePeriodSeconds: number
  /** Until when a lease keeps it awake, possibly in the past. Null: none. */
  leaseUntil: number | null
  urlSettings: { auth: 'token' | 'public'; wake: boolean; idle_stop_seconds: number | null }
  /** Its data volumes, in the order in which they were attached. */
  mounts: MountRecord[]
  /** A restore that has not ended. */
  restore: PendingRestore | null
  /** The last restore that failed, until the next begins. */
  restoreFault: { root: string; code: ErrorCode; detail: string } | null
  /** The creator: a create repeated after a crash finds its own box by the key. */
  createdBy: { token: string; idempotencyKey: string | null }
}

/** A restore that is to be done: copies of a snapshot, complete, that replace the root and data volumes of a box. */
export interface PendingRestore {
  /** The name of the snapshot. */
  snapshot: string
  root: string
  data: { volumeId: string; subvolume: string }[]
}

/** A data volume of a box, mounted while the box runs. */
export interface MountRecord {
  volumeId: string
  name: string
  /** The subvolume that holds its data. */
  subvolume: string
  /** Absolute and normalised. */
  path: string
  readOnly: boolean
}

/** The last observed state of a box, the outcome of the desired state of `generation`. */
export interface BoxObserved {
  status: BoxStatus
  reason: BoxReason
  message: string | null
  since: number
  generation: number
  /** The boot in which it was last seen running. */
  bootId: string | null
  /** False until it first runs. Absent: a version that did not record it created the box. */
  hasRun?: boolean
}

/** A page of boxes. `status` null matches any. */
export interface BoxQuery extends NamedQuery {
  status: BoxStatus | null
}

export interface BoxStore {
  /**
   * Records a box with its mounts and drops the tombstone of its root, in one commit. `name_taken` if the
   * project has a box of that name, else as `replaceMounts`.
   */
  insert(record: BoxRecord): Promise<'stored' | 'name_taken' | MountConflict>
  get(project: string, name: string): Promise<BoxRecord | null>
  byId(id: string): Promise<BoxRecord | null>
  /** Returns the version of a box, without its record. Null: it is gone. */
  versionOf(id: string): Promise<number | null>
  /** Compare-and-set: false if the stored version is not `record.version - 1`, or the box is gone. Mounts stay as stored. */
  replace(record: BoxRecord, effects?: BoxEffects): Promise<boolean>
  /**
   * As `replace`, of a box with a pending restore. Drops the tombstones of its copies. `changed`: the stored version differs.
   * `volume_in_use`: another box has one of the volumes or a pending restore of it.
   */
  beginRestore(record: BoxRecord): Promise<'stored' | 'changed' | 'volume_in_use'>
  /**
   * As `replace`, with the mounts of `record`. Raises the version of each volume that came or went, in the same commit. `changed`: the
   * stored version differs. With `answer`, records the answer to the request in the same commit.
   */
  replaceMounts(record: BoxRecord, answer?: KeyedAnswer | null): Promise<'stored' | 'changed' | MountConflict>
  /** As `replace`, with the domains of `record`. `changed`: the stored version differs, else a domain that is taken. */
  publish(record: BoxRecord): Promise<'stored' | 'changed' | DomainTaken>
  /**
   * Removes the record with its dependents, and writes `tombstone` and the tombstones of its snapshots, in one commit. Returns all
   * tombstones. Null if the stored version differs.
   */
  remove(id: string, version: number, tombstone: Tombstone): Promise<Tombstone[] | null>
  /**
   * Commits a restore, and drops the tombstones of the new subvolumes. Returns `changed` if box or volume changed since, or the box is
   * gone. Returns `volume_in_use` if another box has a pending restore of one of the volumes. Also if a box has one that is not in
   * `given` and not stopped.
   */
  swap(swap: Swap): Promise<'stored' | 'changed' | 'volume_gone' | 'volume_in_use'>
  list(query: BoxQuery): Promise<{ records: BoxRecord[]; hasMore: boolean }>
  /** Lists the ids of all boxes. */
  ids(): Promise<string[]>
  /** Reads all boxes in the order of their ids, a few at a time, because all of them may not fit in memory. */
  each(): AsyncIterable<BoxRecord>
  /** Running boxes that stop when idle. */
  withIdleStop(): Promise<BoxRecord[]>
  /** Lists at most `limit` running boxes after `after`, in a stable order. */
  running(after: RunningBoxRef | null, limit: number): Promise<RunningBoxRef[]>
  countByStatus(): Promise<Record<BoxStatus, number>>
}

/** A running box. `since` is when it started to run, in ms since the epoch. */
export interface RunningBoxRef {
  id: string
  project: string
  root: string
  since: number
}

/** A domain that another box or service has. */
export interface DomainTaken {
  taken: string
}

/** The records that a restore replaces in one commit. */
export interface Swap {
  /** The box whose root is replaced, with its new mounts and its version raised by one. Null: only volumes are restored. */
  box: BoxRecord | null
  /**
   * Volumes and their new subvolumes, also for the records of all other boxes that have them. With `replaces`, the volume must still have
   * that subvolume.
   */
  volumes: readonly { volumeId: string; subvolume: string; replaces?: string }[]
  /** Snapshots of the replaced subvolumes. */
  kept: readonly NewSnapshot[]
  /** Boxes that may have the volumes though they run. The caller has unmounted the replaced subvolumes there. */
  given: readonly string[]
  now: number
}

/** Tombstones for subvolumes that a box no longer has, written in the commit of its record. */
export interface BoxEffects {
  tombstones: readonly Tombstone[]
}

/** Why mounts were not stored. A volume is gone, or another box writes to it. */
export type MountConflict = 'volume_gone' | 'volume_in_use'
