import type { TokenRecord, TokenRoom, TokenStore } from '../../ports/store/tokens.ts'
import type { Database, Row, Value } from './database.ts'
import { fairLevel } from './fair-level.ts'
import { PAGE_BYTES } from './pages.ts'

/** Creates the store of tokens in SQLite, without the tokens themselves. */
export function createTokenStore(database: Database): TokenStore {
  return {
    insert: async (record, room) =>
      database.transaction(() => {
        if (room !== undefined && countLive(database, room) >= room.most) return false
        const sql = 'INSERT INTO tokens (id, created_by, ends_at, record) VALUES (?, ?, ?, ?)'
        database.run(sql, record.id, record.createdBy, record.expiresAt, JSON.stringify(record))
        return true
      }),
    get: async (id) => {
      const row = database.get('SELECT record, revoked_at FROM tokens WHERE id = ?', id)
      return row ? recordOf(row) : null
    },
    list: async ({ createdBy, after, limit }) => {
      const values: Value[] = [after ?? '', ...(createdBy === null ? [] : [createdBy])]
      const filter = createdBy === null ? '' : 'AND created_by = ?'
      const sql = `SELECT record, revoked_at FROM tokens WHERE id > ? ${filter} ORDER BY id`
      const { rows, hasMore } = database.page(sql, { limit, bytesMax: PAGE_BYTES }, ...values)
      return { records: rows.map(recordOf), hasMore }
    },
    revoke: async (id, revokedAt) => {
      const sql = `WITH RECURSIVE minted (id) AS (
          VALUES (?) UNION SELECT tokens.id FROM tokens JOIN minted ON tokens.created_by = minted.id
        )
        UPDATE tokens SET revoked_at = ?, ends_at = ? WHERE id IN (SELECT id FROM minted) AND revoked_at IS NULL`
      // A revocation has to work on a full disk.
      database.freeing(() => database.run(sql, id, revokedAt, revokedAt))
    },
    setKey: async (id, keyId) =>
      void database.run("UPDATE tokens SET record = json_set(record, '$.keyId', ?) WHERE id = ?", keyId, id),
    setEnd: async (id, expiresAt) => {
      const sql = `UPDATE tokens SET record = json_set(record, '$.expiresAt', ?), ends_at = ? WHERE id = ? AND revoked_at IS NULL`
      database.run(sql, expiresAt, expiresAt, id)
    },
    prune: async (endedBefore) => void database.run('DELETE FROM tokens WHERE ends_at < ?', endedBefore),
    bound: async (keep, now) => {
      const counts = database.all('SELECT root, count(*) AS n FROM tokens WHERE ends_at <= ? GROUP BY root', now)
      const level = fairLevel(
        counts.map(({ n }) => Number(n)),
        keep,
      )
      for (const { root, n } of counts) {
        if (Number(n) <= level) continue
        const sql = `DELETE FROM tokens WHERE id IN (
          SELECT id FROM tokens WHERE root = ? AND ends_at <= ? ORDER BY ends_at, id LIMIT ?)`
        database.freeing(() => database.run(sql, String(root), now, Number(n) - level))
      }
    },
  }
}

function countLive(database: Database, { of, now }: TokenRoom): number {
  const filter = 'root' in of ? { column: 'root', id: of.root } : { column: 'created_by', id: of.createdBy }
  const sql = `SELECT count(*) AS n FROM tokens
    WHERE ${filter.column} = ? AND revoked_at IS NULL AND (ends_at IS NULL OR ends_at > ?)`
  return Number(database.get(sql, filter.id, now)?.n)
}

function recordOf(row: Row): TokenRecord {
  const record = JSON.parse(String(row.record)) as TokenRecord
  return {
    ...record,
    root: record.root ?? record.id,
    keyId: record.keyId ?? null,
    revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
  }
}
