import type { AuditRecord, AuditStore } from '../../ports/store/events.ts'
import type { Database } from './database.ts'
import { pruneNumbered } from './numbered.ts'

/** Creates the audit log in SQLite: records as JSON, beside the columns that queries filter by. */
export function createAuditStore(database: Database): AuditStore {
  return {
    add: async (records) =>
      database.transaction(() => {
        for (const { account, ...record } of records) {
          const { at, project, actor, actorName, operation, status } = record
          database.run(ADD, at, project, actor, actorName, operation, status, account, JSON.stringify(record))
        }
      }),
    read: async ({ projects, project, actor, operation, status, before, limit }) => {
      const oldest = Number(database.get('SELECT min(number) AS number FROM audit')?.number ?? 0)
      const newest = Number(database.get('SELECT max(number) AS number FROM audit')?.number ?? 0)
      // A client may invent a number far beyond the newest. Reading down from there would take forever.
      const end = Math.min(before ?? newest + 1, newest + 1)
      const start = Math.max(oldest, end - SCANNED)
      const allowed = projects === '*' ? null : JSON.stringify(projects)
      const rows = database.all(READ, start, end, allowed, project, actor, operation, status, limit)
      const last = rows.length < limit ? start : Number(rows.at(-1)?.number)
      return {
        records: rows.map((row) => ({
          number: Number(row.number),
          record: JSON.parse(String(row.record)) as AuditRecord,
        })),
        next: last > oldest ? last : null,
      }
    },
    prune: (before, keep) =>
      pruneNumbered(database, { table: 'audit', group: 'account' }, { before, keep, onCut: () => undefined }),
  }
}

const ADD = `INSERT INTO audit (at, project, actor, actor_name, operation, status, account, record)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
const READ = `
  SELECT number, record FROM audit WHERE number >= ?1 AND number < ?2
    AND (?3 IS NULL OR project IN (SELECT value FROM json_each(?3)))
    AND (?4 IS NULL OR project = ?4) AND (?5 IS NULL OR actor = ?5 OR actor_name = ?5)
    AND (?6 IS NULL OR operation = ?6) AND (?7 IS NULL OR status = ?7)
  ORDER BY number DESC LIMIT ?8`
// Rows per scan, which takes a few milliseconds.
const SCANNED = 10_000
