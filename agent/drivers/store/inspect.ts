import { existsSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

/** Details in a database file about itself. */
export interface DatabaseFacts {
  /** Version of its schema. */
  schema: number
  /** Id of the pool that belongs to it, or null before the first start. */
  poolId: string | null
}

/** Reads a database of any schema version without changing it, even while an agent serves it. @throws Error if it is damaged */
export function inspectDatabase(path: string): DatabaseFacts {
  return withDatabase(path, (database) => {
    const { user_version: schema } = database.prepare('PRAGMA user_version').get() as { user_version: number }
    const row = schema === 0 ? undefined : database.prepare("SELECT value FROM meta WHERE key = 'pool_id'").get()
    return { schema, poolId: typeof row?.['value'] === 'string' ? row['value'] : null }
  })
}

/** Returns the values of all environment variables in the records of boxes, services and commands. */
export function readEnvironmentValues(path: string): string[] {
  return withDatabase(path, (database) =>
    ['boxes', 'services', 'execs'].flatMap((table) =>
      database
        .prepare(
          `SELECT DISTINCT leaf.atom AS value FROM ${table}, json_tree(${table}.record) AS leaf
           WHERE leaf.type = 'text' AND (leaf.path LIKE '%.environment' OR leaf.path LIKE '%.env')`,
        )
        .all()
        .map((row) => String(row['value'])),
    ),
  )
}

/** Copies a database as of one instant to the new file `target`, even while an agent writes to it. */
export async function copyDatabase(path: string, target: string): Promise<void> {
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
  try {
    await backup(database, target)
  } finally {
    database.close()
  }
  // The copy declares that it is in WAL mode, but as one file it is complete.
  const copy = new DatabaseSync(target)
  try {
    const { integrity_check: result } = copy.prepare('PRAGMA integrity_check(1)').get() as { integrity_check: string }
    if (result !== 'ok') throw new Error(`The copy of the database is damaged: ${result}`)
    copy.exec('PRAGMA journal_mode = DELETE')
  } finally {
    copy.close()
  }
}

/** Makes a database, which no agent serves, forget its pool, so that the next start makes a new one, with the host's bases. */
export function forgetPool(path: string): void {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
  try {
    database.exec("DELETE FROM meta WHERE key = 'pool_id'; DELETE FROM bases WHERE record ->> '$.source' = 'host'")
  } finally {
    database.close()
  }
}

function withDatabase<T>(path: string, read: (database: DatabaseSync) => T): T {
  // Without a WAL everything is in the file itself, and SQLite creates no file beside it.
  const url = pathToFileURL(path)
  if (!existsSync(`${path}-wal`)) url.searchParams.set('immutable', '1')
  const database = new DatabaseSync(url, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
  try {
    return read(database)
  } finally {
    database.close()
  }
}

const BUSY_TIMEOUT_MS = 5_000
