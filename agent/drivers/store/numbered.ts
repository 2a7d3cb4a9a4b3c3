import type { Database } from './database.ts'

/** The numbers of a table of which the oldest rows are forgotten; the oldest is one above the newest where there is none. */
export function boundsOf(database: Database, table: 'events' | 'audit'): { oldest: number; newest: number } {
  const newest = Number(database.get('SELECT seq FROM sqlite_sequence WHERE name = ?', table)?.seq ?? 0)
  const oldest = database.get(`SELECT min(number) AS number FROM ${table}`)?.number ?? null
  return { oldest: oldest === null ? newest + 1 : Number(oldest), newest }
}

/** Forgets rows from before `before`, and all but the newest `keep`; a piece at a time, so that others are answered meanwhile. */
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
  while (database.freeing(() => database.run(sql, oldest, PRUNED_AT_ONCE)) > 0) {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const PRUNED_AT_ONCE = 5_000
