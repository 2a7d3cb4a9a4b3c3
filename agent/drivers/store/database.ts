import { chmodSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { moveDurably } from '../../lib/disk/durable-file.ts'
import type { Ballast } from './ballast.ts'
import { convertSqliteError, convertSyncError, isStorageFull } from './errors.ts'
import { type OutboxDeps, openOutbox } from './outbox.ts'
import { MIGRATIONS } from './schema.ts'
import { openWal } from './wal.ts'

/** A row of a result. */
export type Row = Record<string, string | number | bigint | Uint8Array | null>

/** A value that a statement can bind. */
export type Value = string | number | null | Uint8Array

/**
 * A database file. Every commit is synced to the disk. Each call converts errors of SQLite to ServiceError: `storage_full`,
 * `runtime_unavailable` while another process holds the file, else `internal`.
 */
export interface Database {
  get(sql: string, ...values: Value[]): Row | null
  all(sql: string, ...values: Value[]): Row[]
  /**
   * Reads the first rows, at most `limit` of them and at most `bytesMax` bytes together, but always at least one if there is one. A row's
   * bytes are its column `bytes`, or else the bytes of its `record`. Returns whether rows are left.
   */
  page(sql: string, most: PageBounds, ...values: Value[]): { rows: Row[]; hasMore: boolean }
  /** Runs a statement, and returns the number of rows changed. */
  run(sql: string, ...values: Value[]): number
  /** Runs `work`, which must be synchronous, without events about its changes. */
  silently<T>(work: () => T): T
  /** Runs `work`, which must be synchronous, in one transaction. */
  transaction<T>(work: () => T): T
  /**
   * Like `transaction`, but without blocking the main thread on the disk. Resolves once the commit is synced. Other readers see it before
   * that. Concurrent callers share a sync.
   */
  transactionSoon<T>(work: () => T): Promise<T>
  /** Runs `work`, which frees more space than it takes. On a full disk, runs it once more with the ballast released. */
  freeing<T>(work: () => T): T
  /** Combines `freeing` with a transaction that resolves as `transactionSoon` does. */
  freeingSoon<T>(work: () => T): Promise<T>
  close(): void
}

/** Limits of a page. */
export interface PageBounds {
  limit: number
  bytesMax: number
}

export interface DatabaseOptions {
  /** If null, `freeing` fails on a full disk as well. */
  ballast: Ballast | null
  /** Scripts of the schema, one per version. */
  migrations?: readonly string[]
  /** If null or absent, changes of records write no events. */
  outbox?: OutboxDeps | null
}

/**
 * Opens and migrates the database at `path` (mode 0600).
 * @throws Error if its schema is newer than this program's, naming both versions
 */
export function openDatabase(path: string, options: DatabaseOptions): Database {
  const { ballast, migrations = MIGRATIONS, outbox = null } = options
  const directory = dirname(path)
  const converted = <T>(act: () => T): T => {
    try {
      return act()
    } catch (error) {
      throw convertSqliteError(error, directory)
    }
  }
  const sqlite = openFile(path, { ballast, migrations })
  const silently = outbox === null ? <T>(work: () => T): T => work() : openOutbox(sqlite, outbox)
  const prepared = createStatements(sqlite)
  const wal = openWal(path)
  const freeing: Database['freeing'] = (work) => {
    try {
      return work()
    } catch (error) {
      if (ballast === null || !isStorageFull(error)) throw error
      ballast.release()
      truncateWal(sqlite)
      return work()
    }
  }
  const transactUnsynced = <T>(work: () => T): T => converted(() => runUnsynced(sqlite, work))
  const synced = async <T>(result: T): Promise<T> => {
    await wal.sync().catch((error: unknown) => {
      throw convertSyncError(error, directory)
    })
    return result
  }
  return {
    get: (sql, ...values) => converted(() => prepared(sql).get(...values) ?? null),
    all: (sql, ...values) => converted(() => prepared(sql).all(...values)),
    page: (sql, most, ...values) => converted(() => pageOf(prepared(sql).iterate(...values), most)),
    run: (sql, ...values) => converted(() => Number(prepared(sql).run(...values).changes)),
    silently,
    transaction: (work) => converted(() => runTransaction(sqlite, work)),
    transactionSoon: async (work) => synced(transactUnsynced(work)),
    freeing,
    freeingSoon: async (work) => synced(freeing(() => transactUnsynced(work))),
    close: () => {
      sqlite.close()
      wal.close()
    },
  }
}

function pageOf(found: Iterable<Row>, { limit, bytesMax }: PageBounds): { rows: Row[]; hasMore: boolean } {
  const rows: Row[] = []
  let bytes = 0
  for (const row of found) {
    bytes += Number(row.bytes ?? Buffer.byteLength(String(row.record)))
    if (rows.length >= limit || (rows.length > 0 && bytes > bytesMax)) return { rows, hasMore: true }
    rows.push(row)
  }
  return { rows, hasMore: false }
}

function runTransaction<T>(sqlite: DatabaseSync, work: () => T): T {
  sqlite.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    sqlite.exec('COMMIT')
    return result
  } catch (error) {
    if (sqlite.isTransaction) sqlite.exec('ROLLBACK')
    throw error
  }
}

// In WAL mode this commit is written without a sync. Checkpoints still sync, and each commit after this one does too.
function runUnsynced<T>(sqlite: DatabaseSync, work: () => T): T {
  sqlite.exec('PRAGMA synchronous = NORMAL')
  try {
    return runTransaction(sqlite, work)
  } finally {
    sqlite.exec('PRAGMA synchronous = FULL')
  }
}

/** Caches prepared statements, and evicts the least recently used. */
function createStatements(sqlite: DatabaseSync): (sql: string) => StatementSync {
  const statements = new Map<string, StatementSync>()
  return (sql) => {
    const statement = statements.get(sql) ?? sqlite.prepare(sql)
    statements.delete(sql)
    statements.set(sql, statement)
    const [oldest] = statements.keys()
    if (statements.size > STATEMENTS_KEPT && oldest !== undefined) statements.delete(oldest)
    return statement
  }
}

function openFile(path: string, { ballast, migrations = MIGRATIONS }: DatabaseOptions): DatabaseSync {
  try {
    return openMigrated(path, migrations)
  } catch (error) {
    if (ballast === null || !isStorageFull(convertSqliteError(error, dirname(path)))) throw error
    ballast.release()
    return openMigrated(path, migrations)
  }
}

function openMigrated(path: string, migrations: readonly string[]): DatabaseSync {
  const sqlite = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true })
  try {
    chmodSync(path, 0o600)
    sqlite.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
    migrate(sqlite, path, migrations)
    return sqlite
  } catch (error) {
    sqlite.close()
    throw error
  }
}

/** Checkpoints the WAL and truncates it, so that its blocks are free as well. */
function truncateWal(sqlite: DatabaseSync): void {
  try {
    sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // If there is no space, the next attempt fails anyway.
  }
}

function migrate(sqlite: DatabaseSync, path: string, migrations: readonly string[]): void {
  const row = sqlite.prepare('PRAGMA user_version').get() as { user_version: number }
  const from = row.user_version
  const to = migrations.length
  if (from === to) return
  if (from > to) {
    throw new Error(`The database has schema version ${from}, and this program supports ${to}. Start a newer Boxyard.`)
  }
  if (from > 0) copyBeside(sqlite, `${path}.v${from}`)
  sqlite.exec('BEGIN IMMEDIATE')
  for (const script of migrations.slice(from)) sqlite.exec(script)
  sqlite.exec(`PRAGMA user_version = ${to}; COMMIT`)
}

/** Copies the database to `copy`, and renames it into place once complete. Replaces the copy of an earlier attempt. */
function copyBeside(sqlite: DatabaseSync, copy: string): void {
  const draft = `${copy}.new`
  rmSync(draft, { force: true })
  sqlite.exec(`VACUUM INTO '${draft.replaceAll("'", "''")}'`)
  chmodSync(draft, 0o600)
  moveDurably(draft, copy)
}

const BUSY_TIMEOUT_MS = 5000
// More than the number of statements in the drivers.
const STATEMENTS_KEPT = 128
