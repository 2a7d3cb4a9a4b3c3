import type { IdempotencyStore, KeyedAnswer, StoredAnswer } from '../../ports/store/idempotency.ts'
import type { Database } from './database.ts'
import { fairLevel } from './fair-level.ts'

/** Creates the store of idempotency keys in SQLite. A row without an answer is a request that still runs. */
export function createIdempotencyStore(database: Database): IdempotencyStore {
  return {
    begin: async ({ token, key, fingerprint, now, account }) => {
      const sql =
        'INSERT OR IGNORE INTO idempotency (token, key, fingerprint, created_at, account) VALUES (?, ?, ?, ?, ?)'
      if (database.run(sql, token, key, fingerprint, now, account) === 1) return null
      const row = database.get('SELECT fingerprint, answer FROM idempotency WHERE token = ? AND key = ?', token, key)
      if (!row) return null
      const answer = row.answer === null ? null : (JSON.parse(String(row.answer)) as StoredAnswer)
      return { fingerprint: String(row.fingerprint), answer }
    },
    finish: async (token, key, answer) => storeAnswer(database, { token, key, answer }),
    drop: async (token, key) =>
      void database.run('DELETE FROM idempotency WHERE token = ? AND key = ? AND answer IS NULL', token, key),
    prune: async (createdBefore, { unfinished }) => {
      database.run('DELETE FROM idempotency WHERE created_at < ?', createdBefore)
      if (unfinished) database.run('DELETE FROM idempotency WHERE answer IS NULL')
    },
    bound: async (keepBytes) => {
      const sums = database.all(`SELECT account, sum(${ROW_BYTES}) AS bytes FROM idempotency GROUP BY account`)
      const level = fairLevel(
        sums.map(({ bytes }) => Number(bytes)),
        keepBytes,
      )
      for (const { account, bytes } of sums) {
        if (Number(bytes) > level) database.freeing(() => database.run(DELETE_OLDEST, String(account), level))
      }
    },
  }
}

/** Stores the answer for repeats, inside an open transaction if there is one. */
export function storeAnswer(database: Database, { token, key, answer }: KeyedAnswer): void {
  database.run('UPDATE idempotency SET answer = ? WHERE token = ? AND key = ?', JSON.stringify(answer), token, key)
}

// Beside the answer, a row and its entries in two indexes.
const ROW_BYTES = '512 + ifnull(length(answer), 0)'
const DELETE_OLDEST = `DELETE FROM idempotency WHERE answer IS NOT NULL AND (token, key) IN (SELECT token, key FROM (
  SELECT token, key, sum(${ROW_BYTES}) OVER (ORDER BY created_at DESC, token, key) AS newer FROM idempotency WHERE account = ?
) WHERE newer > ?)`
