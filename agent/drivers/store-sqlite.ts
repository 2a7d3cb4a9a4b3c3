import { dirname, join } from 'node:path'
import type {
  BaseRecord,
  BaseStore,
  IdempotencyStore,
  MetaStore,
  OperationRecord,
  OperationStore,
  Store,
  StoredAnswer,
} from '../ports/store.ts'
import { openBallast } from './sqlite-ballast.ts'
import { createBoxStore } from './sqlite-boxes.ts'
import { type Database, openDatabase } from './sqlite-database.ts'
import { createExecStore } from './sqlite-execs.ts'
import { createQuotaStore } from './sqlite-quotas.ts'
import { createTokenStore } from './sqlite-tokens.ts'
import { createTombstoneStore } from './sqlite-tombstones.ts'
import { createVolumeStore } from './sqlite-volumes.ts'

export interface SqliteStoreOptions {
  /** Keeps room beside the file, in `ballast`, so that deleting works on a full disk; for one process at a time. */
  hasBallast?: boolean
}

/** Opens the store in the SQLite file at `path`, making it if need be. */
export function openSqliteStore(path: string, { hasBallast = false }: SqliteStoreOptions = {}): Store {
  const ballast = hasBallast ? openBallast(join(dirname(path), 'ballast'), BALLAST) : null
  const database = openDatabase(path, { ballast })
  return {
    kind: 'sqlite',
    boxes: createBoxStore(database),
    volumes: createVolumeStore(database),
    quotas: createQuotaStore(database),
    tombstones: createTombstoneStore(database),
    tokens: createTokenStore(database),
    operations: createOperationStore(database),
    execs: createExecStore(database),
    bases: createBaseStore(database),
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
    prune: async (createdBefore) => void database.run('DELETE FROM operations WHERE created_at < ?', createdBefore),
  }
}

function createBaseStore(database: Database): BaseStore {
  return {
    insert: async (record, tombstoneId) =>
      database.transaction(() => {
        database.run('INSERT INTO bases (name, record) VALUES (?, ?)', record.name, JSON.stringify(record))
        database.run('DELETE FROM tombstones WHERE id = ?', tombstoneId)
      }),
    get: async (name) => {
      const row = database.get('SELECT record FROM bases WHERE name = ?', name)
      return row ? (JSON.parse(String(row.record)) as BaseRecord) : null
    },
    all: async () =>
      database.all('SELECT record FROM bases ORDER BY name').map((row) => JSON.parse(String(row.record)) as BaseRecord),
  }
}

function createIdempotencyStore(database: Database): IdempotencyStore {
  return {
    begin: async ({ token, key, fingerprint, now }) => {
      const sql = 'INSERT OR IGNORE INTO idempotency (token, key, fingerprint, created_at) VALUES (?, ?, ?, ?)'
      if (database.run(sql, token, key, fingerprint, now) === 1) return null
      const row = database.get('SELECT fingerprint, answer FROM idempotency WHERE token = ? AND key = ?', token, key)
      if (!row) return null
      const answer = row.answer === null ? null : (JSON.parse(String(row.answer)) as StoredAnswer)
      return { fingerprint: String(row.fingerprint), answer }
    },
    finish: async (token, key, answer) => {
      const sql = 'UPDATE idempotency SET answer = ? WHERE token = ? AND key = ?'
      database.run(sql, JSON.stringify(answer), token, key)
    },
    drop: async (token, key) =>
      void database.run('DELETE FROM idempotency WHERE token = ? AND key = ? AND answer IS NULL', token, key),
    prune: async (createdBefore, { unfinished }) => {
      database.run('DELETE FROM idempotency WHERE created_at < ?', createdBefore)
      if (unfinished) database.run('DELETE FROM idempotency WHERE answer IS NULL')
    },
  }
}

function createMetaStore(database: Database): MetaStore {
  return {
    get: async (key) => {
      const row = database.get('SELECT value FROM meta WHERE key = ?', key)
      return row ? String(row.value) : null
    },
    set: async (key, value) => {
      const sql = 'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value'
      database.run(sql, key, value)
    },
  }
}

// SQLite's log grows to 4 MiB before it goes into the database file, and emptying it may take as much there.
const BALLAST = { sizeBytes: 8 * 1024 ** 2, checkMs: 10_000 }
