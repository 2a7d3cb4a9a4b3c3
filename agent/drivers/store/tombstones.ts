import type { Tombstone, TombstoneStore } from '../../ports/store/tombstones.ts'
import type { Database } from './database.ts'

/** Creates the store of tombstones in SQLite. */
export function createTombstoneStore(database: Database): TombstoneStore {
  return {
    insert: (tombstone) => database.transactionSoon(() => insertTombstone(database, tombstone)),
    all: async () =>
      database.all('SELECT * FROM tombstones ORDER BY id').map((row) => ({
        id: String(row.id),
        root: String(row.root),
        createdAt: Number(row.created_at),
        ...(row.home === null ? {} : { home: JSON.parse(String(row.home)) as NonNullable<Tombstone['home']> }),
      })),
    remove: async (id) => {
      await database.freeingSoon(() => database.run('DELETE FROM tombstones WHERE id = ?', id))
    },
  }
}

/** Drops tombstones, inside the open transaction, once records have their subvolumes. */
export function dropTombstones(database: Database, ids: readonly string[]): void {
  database.run('DELETE FROM tombstones WHERE id IN (SELECT value FROM json_each(?))', JSON.stringify(ids))
}

/** Writes a tombstone, inside an open transaction if there is one. */
export function insertTombstone(database: Database, tombstone: Tombstone): void {
  const sql = 'INSERT OR REPLACE INTO tombstones (id, root, created_at, home) VALUES (?, ?, ?, ?)'
  const { id, root, createdAt, home } = tombstone
  database.run(sql, id, root, createdAt, home === undefined ? null : JSON.stringify(home))
}
