import { dirname, join } from 'node:path'
import { createListeners } from '../../../shared/listeners.ts'
import type { JobRecord, OperationRecord, OperationStore } from '../../ports/store/operations.ts'
import type { MetaStore, Store } from '../../ports/store/store.ts'
import { createAuditStore } from './audit.ts'
import { createBackupRecords } from './backups.ts'
import { openBallast } from './ballast.ts'
import { createBaseStore } from './bases.ts'
import { createBoxStore } from './boxes.ts'
import { type Database, openDatabase } from './database.ts'
import { createEdgeGrantStore } from './edge-grants.ts'
import { createEventStore } from './events.ts'
import { createExecStore } from './exec.ts'
import { fairLevel } from './fair-level.ts'
import { createIdempotencyStore } from './idempotency.ts'
import type { OutboxDeps } from './outbox.ts'
import { createQuotaStore } from './quotas.ts'
import { createServiceStore } from './services.ts'
import { createSnapshotStore } from './snapshots.ts'
import { createTokenStore } from './tokens.ts'
import { createTombstoneStore } from './tombstones.ts'
import { createVolumeStore } from './volumes.ts'

export interface SqliteStoreOptions {
  /** Reserves space in the file `ballast` beside the database, so that deleting works on a full disk. For one process at a time. */
  hasBallast?: boolean
  /** Clock and actor of the events. If absent, time 0 and no actor. */
  outbox?: Omit<OutboxDeps, 'onWritten'>
}

/** Opens the store in the SQLite file at `path`, which it creates if it is absent. */
export function openSqliteStore(path: string, options: SqliteStoreOptions = {}): Store {
  const { hasBallast = false, outbox = TIMELESS } = options
  const ballast = hasBallast ? openBallast(join(dirname(path), 'ballast'), BALLAST) : null
  const written = createListeners<ReadonlySet<string>>()
  const database = openDatabase(path, { ballast, outbox: { ...outbox, onWritten: written.notify } })
  return {
    kind: 'sqlite',
    boxes: createBoxStore(database),
    volumes: createVolumeStore(database),
    snapshots: createSnapshotStore(database),
    services: createServiceStore(database),
    backups: createBackupRecords(database),
    quotas: createQuotaStore(database),
    tombstones: createTombstoneStore(database),
    tokens: createTokenStore(database),
    edgeGrants: createEdgeGrantStore(database),
    operations: createOperationStore(database),
    execs: createExecStore(database),
    bases: createBaseStore(database),
    audit: createAuditStore(database),
    events: createEventStore(database, written.add),
    idempotency: createIdempotencyStore(database),
    meta: createMetaStore(database),
    close: async () => {
      ballast?.close()
      database.close()
    },
  }
}

function createOperationStore(database: Database): OperationStore {
  return {
    insert: async (record) => {
      const sql = 'INSERT INTO operations (id, created_at, record) VALUES (?, ?, ?)'
      database.run(sql, record.id, record.createdAt, JSON.stringify(record))
    },
    get: async (id) => {
      const row = database.get('SELECT record FROM operations WHERE id = ?', id)
      return row ? (JSON.parse(String(row.record)) as OperationRecord) : null
    },
    finish: async (id, outcome) => {
      const sql = `UPDATE operations SET record = json_set(record, '$.outcome', json(?))
        WHERE id = ? AND json_extract(record, '$.outcome') IS NULL`
      database.run(sql, JSON.stringify(outcome), id)
    },
    unfinishedJobs: async () =>
      database
        .all(`SELECT record FROM operations WHERE ${IS_UNFINISHED_JOB}`)
        .map(({ record }) => JSON.parse(String(record)) as JobRecord),
    prune: async (createdBefore) =>
      void database.run(`DELETE FROM operations WHERE created_at < ? AND NOT (${IS_UNFINISHED_JOB})`, createdBefore),
    bound: async (keep) => {
      const counts = database.all('SELECT project, count(*) AS n FROM operations GROUP BY project')
      const level = fairLevel(
        counts.map(({ n }) => Number(n)),
        keep,
      )
      for (const { project, n } of counts) {
        if (Number(n) <= level) continue
        const sql = `DELETE FROM operations WHERE NOT (${IS_UNFINISHED_JOB}) AND id IN (
          SELECT id FROM operations WHERE project IS ? ORDER BY created_at, id LIMIT ?)`
        database.freeing(() => database.run(sql, project as string | null, Number(n) - level))
      }
    },
  }
}

function createMetaStore(database: Database): MetaStore {
  return {
    get: async (key) => {
      const row = database.get('SELECT value FROM meta WHERE key = ?', key)
      return row ? String(row.value) : null
    },
    list: async (prefix) => {
      const rows = database.all(
        'SELECT key, value FROM meta WHERE substr(key, 1, length(?)) = ? ORDER BY key',
        prefix,
        prefix,
      )
      return rows.map(({ key, value }) => ({ key: String(key), value: String(value) }))
    },
    remove: async (key) => {
      database.freeing(() => database.run('DELETE FROM meta WHERE key = ?', key))
    },
    set: async (key, value) => {
      const sql = 'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value'
      database.run(sql, key, value)
    },
  }
}

const TIMELESS = { now: () => 0, actorContext: { current: () => null } }
const IS_UNFINISHED_JOB = "record ->> '$.outcome' IS NULL AND record ->> '$.resource' IS NOT NULL"

// SQLite's WAL grows to 4 MiB before a checkpoint, which may grow the database file by as much.
const BALLAST = { sizeBytes: 8 * 1024 ** 2, checkMs: 10_000 }
