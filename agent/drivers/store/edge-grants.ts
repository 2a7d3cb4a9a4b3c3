import type { EdgeGrantRecord, EdgeGrantStore } from '../../ports/store/edge-grants.ts'
import type { Database, Row } from './database.ts'
import { fairLevel } from './fair-level.ts'

/** Creates the store of edge grants in SQLite, which takes revocations from the table of tokens. */
export function createEdgeGrantStore(database: Database): EdgeGrantStore {
  return {
    put: async (record, bounds) =>
      database.transaction(() => {
        const { credential, scope, tokenId, project, createdAt, expiresAt } = record
        const sql = `INSERT INTO edge_grants (credential, scope, token_id, project, created_at, expires_at)
          SELECT ?, ?, id, ?, ?, ? FROM tokens WHERE id = ? AND revoked_at IS NULL
          ON CONFLICT (credential, scope) DO UPDATE SET created_at = excluded.created_at, expires_at = excluded.expires_at`
        if (database.run(sql, credential, scope, project, createdAt, expiresAt, tokenId) === 0) return null
        return credentialsOf([
          ...excessOfToken(database, record, bounds.ofToken),
          ...excessInAll(database, record, bounds.inAll),
        ])
      }),
    find: async ({ credential, scope }, now) => {
      const row = database.get(`${LIVE} AND credential = ? AND scope = ?`, now, credential, scope)
      return row ? recordOf(row) : null
    },
    live: async (now) => database.all(LIVE, now).map(recordOf),
    ended: async (now) => {
      const sql = `SELECT credential FROM edge_grants LEFT JOIN tokens ON tokens.id = token_id
        WHERE expires_at <= ? OR tokens.id IS NULL OR revoked_at IS NOT NULL OR ${IS_FOREIGN}`
      return credentialsOf(database.all(sql, now))
    },
    lapsing: async (now, before) =>
      database.all(LAPSING, now, before).map((row) => ({
        ...recordOf(row),
        tokenEndsAt: row['ends_at'] === null ? null : Number(row['ends_at']),
      })),
    prune: async (endedBefore) => void database.run('DELETE FROM edge_grants WHERE expires_at < ?', endedBefore),
    remove: async (credentials) => {
      const sql = 'DELETE FROM edge_grants WHERE credential IN (SELECT value FROM json_each(?))'
      database.freeing(() => database.run(sql, JSON.stringify(credentials)))
    },
  }
}

// Beyond `most`, leaves a twentieth less than that, so that not each grant ends another.
function excessOfToken(database: Database, { credential, tokenId }: EdgeGrantRecord, most: number): Row[] {
  const excess = countOf(database, 'WHERE token_id = ?', tokenId) - most
  if (excess <= 0) return []
  return database.all(`${OTHERS} AND token_id = ? ${OLDEST}`, credential, tokenId, excess + slackOf(most))
}

// Beyond `most`, leaves a twentieth less too, in equal parts for the roots at which chains of tokens begin. The roots with the most lose
// their oldest.
function excessInAll(database: Database, { credential }: EdgeGrantRecord, most: number): Row[] {
  const excess = countOf(database, '') - most
  if (excess <= 0) return []
  const roots = database.all(`SELECT root, sum(grants) AS n FROM (
      SELECT token_id, count(*) AS grants FROM edge_grants GROUP BY token_id
    ) JOIN tokens ON tokens.id = token_id GROUP BY root`)
  const level = fairLevel(
    roots.map(({ n }) => Number(n)),
    most - slackOf(most),
  )
  const gone = roots.flatMap(({ root, n }) => {
    const tooMany = Number(n) - Math.max(1, level)
    const sql = `${OTHERS} AND token_id IN (SELECT id FROM tokens WHERE root = ?) ${OLDEST}`
    return tooMany > 0 ? database.all(sql, credential, String(root), tooMany) : []
  })
  // With more roots than grants, deletes the oldest of all.
  return level < 1 ? [...gone, ...database.all(`${OTHERS} ${OLDEST}`, credential, excess)] : gone
}

function countOf(database: Database, filter: string, ...values: string[]): number {
  return Number(database.get(`SELECT count(*) AS n FROM edge_grants ${filter}`, ...values)?.n)
}

function slackOf(most: number): number {
  return Math.floor(most / 20)
}

function credentialsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.map(({ credential }) => String(credential)))]
}

function recordOf(row: Row): EdgeGrantRecord {
  return {
    credential: String(row.credential),
    scope: String(row.scope),
    tokenId: String(row.token_id),
    project: String(row.project),
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
  }
}

const IS_FOREIGN = `EXISTS (SELECT 1 FROM domains JOIN boxes ON boxes.id = domains.box_id
  WHERE domains.domain = edge_grants.scope AND boxes.project <> edge_grants.project)`
const LIVE = `SELECT edge_grants.* FROM edge_grants JOIN tokens ON tokens.id = token_id
  WHERE revoked_at IS NULL AND NOT ${IS_FOREIGN} AND expires_at > ?`
// The scope of a token's grant is its project. The scope of a session's grant is a host.
const LAPSING = `SELECT edge_grants.*, ends_at FROM edge_grants JOIN tokens ON tokens.id = token_id
  WHERE revoked_at IS NULL AND scope = project AND expires_at > ? AND expires_at <= ?
    AND (ends_at IS NULL OR ends_at > expires_at)`
const OTHERS = 'SELECT credential FROM edge_grants WHERE credential <> ?'
const OLDEST = 'ORDER BY edge_grants.created_at LIMIT ?'
