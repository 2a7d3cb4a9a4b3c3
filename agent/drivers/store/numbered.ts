import type { Database } from './database.ts'

/** Returns the numbers of the oldest row kept and of the newest ever; the oldest is newest + 1 if none is kept. */
export function boundsOf(database: Database, table: 'events' | 'audit'): { oldest: number; newest: number } {
  const newest = Number(database.get('SELECT seq FROM sqlite_sequence WHERE name = ?', table)?.seq ?? 0)
  const oldest = database.get(`SELECT min(number) AS number FROM ${table}`)?.number ?? null
  return { oldest: oldest === null ? newest + 1 : Number(oldest), newest }
}

/** Deletes rows from before `before`, and all but the newest `keep`; in batches, between which other work runs. */
export async function pruneNumbered(
  database: Database,
  table: 'events' | 'audit',
  { before, keep }: { before: number; keep: number },
): Promise<void> {
  const { newest } = boundsOf(database, table)
  const kept = database.get(`SELECT number FROM ${table} WHERE at >= ? ORDER BY number LIMIT 1`, before)?.number
  const oldest = Math.max(Number(kept ?? newest + 1), newest - keep + 1)
  const sql = `DELETE FROM ${table} WHERE number IN (
    SELECT number FROM ${table} WHERE number < ?1 ORDER BY number LIMIT ?2)`
  while (database.freeing(() => database.run(sql, oldest, BATCH_ROWS)) > 0) {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const BATCH_ROWS = 5_000
