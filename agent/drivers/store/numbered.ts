import type { Database } from './database.ts'
import { fairLevel } from './fair-level.ts'

/** A table of numbered rows, and the column of the groups that share its capacity. */
export interface NumberedTable {
  table: 'events' | 'audit'
  group: 'audience' | 'account'
}

/** Returns the numbers of the oldest row kept and of the newest ever. The oldest is newest + 1 if none is kept. */
export function boundsOf(database: Database, table: NumberedTable['table']): { oldest: number; newest: number } {
  const newest = Number(database.get('SELECT seq FROM sqlite_sequence WHERE name = ?', table)?.seq ?? 0)
  const oldest = database.get(`SELECT min(number) AS number FROM ${table}`)?.number ?? null
  return { oldest: oldest === null ? newest + 1 : Number(oldest), newest }
}

/** Rows of a table, or of a group of it, just before their deletion. They are all rows below `number`. */
export type Cut = { group: string | null; number: number }

/**
 * Deletes rows from before `before`. Then deletes the oldest rows of the largest groups until `keep` are left. Works in batches, with other
 * work between them. Calls `onCut` ahead of each deletion.
 */
export async function pruneNumbered(
  database: Database,
  { table, group }: NumberedTable,
  { before, keep, onCut }: { before: number; keep: number; onCut(cut: Cut): void },
): Promise<void> {
  const { newest } = boundsOf(database, table)
  const kept = database.get(`SELECT number FROM ${table} WHERE at >= ? ORDER BY number LIMIT 1`, before)?.number
  const cut = async (cut: Cut): Promise<void> => {
    const ofGroup = cut.group === null ? '' : `${group} = ?3 AND`
    const values = [cut.number, BATCH_ROWS, ...(cut.group === null ? [] : [cut.group])]
    const sql = `DELETE FROM ${table} WHERE number IN (
      SELECT number FROM ${table} WHERE ${ofGroup} number < ?1 ORDER BY number LIMIT ?2)`
    onCut(cut)
    while (database.freeing(() => database.run(sql, ...values)) > 0) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await cut({ group: null, number: Number(kept ?? newest + 1) })
  if (Number(database.get(`SELECT count(*) AS n FROM ${table}`)?.n) <= keep) return
  const groups = database.all(`SELECT ${group} AS name, count(*) AS n FROM ${table} GROUP BY ${group}`)
  const level = fairLevel(
    groups.map(({ n }) => Number(n)),
    keep,
  )
  for (const { name, n } of groups) {
    if (Number(n) <= level) continue
    const oldest = `SELECT number FROM ${table} WHERE ${group} = ? ORDER BY number LIMIT 1 OFFSET ?`
    const number = database.get(oldest, String(name), Number(n) - level)?.number
    await cut({ group: String(name), number: Number(number ?? newest + 1) })
  }
}

const BATCH_ROWS = 5_000
