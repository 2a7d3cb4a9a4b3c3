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
        // On a conflict, the agent of this cell has learned of the token before the host's command that creates it recorded it.
        database.run(`${INSERT} ON CONFLICT (id) DO NOTHING`, ...valuesOf(record))
        return true
      }),
    hasRoom: async (room) => countLive(database, room) < room.most,
    mirror: async (tokens, { isTold }) => {
      const write = (): void => {
        for (const token of tokens) database.run(MIRROR, ...valuesOf({ ...token, revokedAt: null }))
      }
      database.transaction(isTold ? write : () => database.silently(write))
    },
    get: async (id) => {
      const row = database.get('SELECT record, revoked_at FROM tokens WHERE id = ?', id)
      return row ? recordOf(row) : null
    },
    list: async ({ createdBy, after, limit, unexpiredAt }) => {
      const [ofOne, unexpired] = [createdBy === null ? [] : [createdBy], unexpiredAt === undefined ? [] : [unexpiredAt]]
      const values: Value[] = [after ?? '', ...ofOne, ...unexpired]
      const filter = `${createdBy === null ? '' : 'AND created_by = ?'} ${unexpiredAt === undefined ? '' : UNEXPIRED}`
      const sql = `SELECT record, revoked_at FROM tokens WHERE id > ? ${filter} ORDER BY id`
      const { rows, hasMore } = database.page(sql, { limit, bytesMax: PAGE_BYTES }, ...values)
      return { records: rows.map(recordOf), hasMore }
    },
    lastExpiry: async (id) => {
      const sql = `${MINTED} SELECT record ->> '$.expiresAt' AS at FROM tokens
        WHERE id IN (SELECT id FROM minted) ORDER BY at IS NULL DESC, at DESC LIMIT 1`
      const at = database.get(sql, id)?.at ?? null
      return at === null ? null : Number(at)
    },
    revoke: async (id, revokedAt, { isTold } = { isTold: true }) => {
      const sql = `${MINTED}
        UPDATE tokens SET revoked_at = ?, ends_at = ? WHERE id IN (SELECT id FROM minted) AND revoked_at IS NULL`
      const write = (): number => database.run(sql, id, revokedAt, revokedAt)
      // A revocation must work on a full disk.
      return database.freeing(isTold ? write : () => database.silently(write))
    },
    signOut: async (id, signedOutAt, { isTold }) => {
      const sql = `UPDATE tokens SET record = json_set(record, '$.signedOutAt', ?), revoked_at = ?, ends_at = ?
        WHERE id = ? AND revoked_at IS NULL`
      const write = (): number => database.run(sql, signedOutAt, signedOutAt, signedOutAt, id)
      return database.freeing(isTold ? write : () => database.silently(write))
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

function valuesOf(record: TokenRecord): Value[] {
  return [record.id, record.createdBy, record.expiresAt, JSON.stringify(record)]
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

const INSERT = 'INSERT INTO tokens (id, created_by, ends_at, record) VALUES (?, ?, ?, ?)'
// Changes no row with equal values, so that a list of known tokens writes nothing.
const MIRROR = `${INSERT} ON CONFLICT (id) DO UPDATE SET ends_at = excluded.ends_at, record = json_set(record,
    '$.expiresAt', excluded.record ->> '$.expiresAt', '$.keyId', excluded.record ->> '$.keyId')
  WHERE revoked_at IS NULL AND (ends_at IS NOT excluded.ends_at OR record ->> '$.keyId' IS NOT excluded.record ->> '$.keyId')`
const UNEXPIRED = "AND (record ->> '$.expiresAt' IS NULL OR record ->> '$.expiresAt' > ?)"
const MINTED = `WITH RECURSIVE minted (id) AS (
    VALUES (?) UNION SELECT tokens.id FROM tokens JOIN minted ON tokens.created_by = minted.id
    UNION SELECT tokens.id FROM tokens JOIN minted ON tokens.session = minted.id
  )`
