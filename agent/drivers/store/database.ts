import { chmodSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { moveDurably } from '../../lib/disk/durable-file.ts'
import type { Ballast } from './ballast.ts'
import { convertSqliteError, isStorageFull } from './errors.ts'
import { type OutboxDeps, openOutbox } from './outbox.ts'
import { MIGRATIONS } from './schema.ts'

/** A row as SQLite gives it. */
export type Row = Record<string, string | number | bigint | Uint8Array | null>

/** What may be bound to a statement. */
export type Value = string | number | null | Uint8Array

/**
 * One database file; every commit is synced to the disk. Each call throws ServiceError for what SQLite refuses:
 * `storage_full`, `runtime_unavailable` while another process holds the file, else `internal`.
 */
export interface Database {
  get(sql: string, ...values: Value[]): Row | null
  all(sql: string, ...values: Value[]): Row[]
  /** The number of rows changed. */
  run(sql: string, ...values: Value[]): number
  /** Runs `work`, which must be synchronous, in one transaction. */
  transaction<T>(work: () => T): T
  /** Runs `work`, which takes less room than it frees; where the disk is full, once more with the ballast given up. */
  freeing<T>(work: () => T): T
  close(): void
}

export interface DatabaseOptions {
  /** Null: what frees room fails as well on a full disk. */
  ballast: Ballast | null
  /** The schema, one script a version. */
  migrations?: readonly string[]
  /** Null, or left out: changes of records leave no events. */
  outbox?: OutboxDeps | null
}

/**
 * Opens, and migrates, the database at `path` (mode 0600).
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
  if (outbox !== null) openOutbox(sqlite, outbox)
  const prepared = createStatements(sqlite)
  return {
    get: (sql, ...values) => converted(() => prepared(sql).get(...values) ?? null),
    all: (sql, ...values) => converted(() => prepared(sql).all(...values)),
    run: (sql, ...values) => converted(() => Number(prepared(sql).run(...values).changes)),
    transaction: (work) => converted(() => runTransaction(sqlite, work)),
    freeing: (work) => {
      try {
        return work()
      } catch (error) {
        if (ballast === null || !isStorageFull(error)) throw error
        ballast.release()
        emptyLog(sqlite)
        return work()
      }
    },
    close: () => sqlite.close(),
  }
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

/** Statements prepared once; the one unused for longest gives way. */
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

/** Moves what the log holds into the database file, so that the log's own blocks are free as well. */
function emptyLog(sqlite: DatabaseSync): void {
  try {
    sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // What is tried next tells whether there is room.
  }
}

function migrate(sqlite: DatabaseSync, path: string, migrations: readonly string[]): void {
  const row = sqlite.prepare('PRAGMA user_version').get() as { user_version: number }
  const from = row.user_version
  const to = migrations.length
  if (from === to) return
  if (from > to) {
    throw new Error(`The database has schema version ${from}, this program knows ${to}: start a newer Boxyard.`)
  }
  if (from > 0) copyBeside(sqlite, `${path}.v${from}`)
  sqlite.exec('BEGIN IMMEDIATE')
  for (const script of migrations.slice(from)) sqlite.exec(script)
  sqlite.exec(`PRAGMA user_version = ${to}; COMMIT`)
}

/** A copy takes its name when it is whole, in place of one that an earlier attempt made of an older state. */
function copyBeside(sqlite: DatabaseSync, copy: string): void {
  const draft = `${copy}.new`
  rmSync(draft, { force: true })
  sqlite.exec(`VACUUM INTO '${draft.replaceAll("'", "''")}'`)
  chmodSync(draft, 0o600)
  moveDurably(draft, copy)
}

const BUSY_TIMEOUT_MS = 5000
// More than there are statements in the drivers.
const STATEMENTS_KEPT = 128
