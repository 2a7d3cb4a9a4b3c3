import type { TokenRecord, TokenStore } from '../../ports/store/tokens.ts'
import type { Database, Row, Value } from './database.ts'

/** Creates the store of tokens in SQLite, without the tokens themselves. */
export function createTokenStore(database: Database): TokenStore {
  return {
    insert: async (record) => {
      const sql = 'INSERT INTO tokens (id, created_by, ends_at, record) VALUES (?, ?, ?, ?)'
      database.run(sql, record.id, record.createdBy, record.expiresAt, JSON.stringify(record))
    },
    get: async (id) => {
      const row = database.get('SELECT record, revoked_at FROM tokens WHERE id = ?', id)
      return row ? recordOf(row) : null
    },
    list: async ({ createdBy, after, limit }) => {
      const values: Value[] = [after ?? '', ...(createdBy === null ? [] : [createdBy]), limit + 1]
      const filter = createdBy === null ? '' : 'AND created_by = ?'
      const sql = `SELECT record, revoked_at FROM tokens WHERE id > ? ${filter} ORDER BY id LIMIT ?`
      const rows = database.all(sql, ...values)
      return { records: rows.slice(0, limit).map(recordOf), hasMore: rows.length > limit }
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
  }
}

function recordOf(row: Row): TokenRecord {
  const record = JSON.parse(String(row.record)) as TokenRecord
  return { ...record, keyId: record.keyId ?? null, revokedAt: row.revoked_at === null ? null : Number(row.revoked_at) }
}
