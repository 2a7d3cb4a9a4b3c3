import type { ExecBounds, ExecRecord, ExecStore } from '../../ports/store/exec.ts'
import type { Database, Row } from './database.ts'
import { PAGE_BYTES } from './pages.ts'

/** Creates the store of execs in SQLite, with small output. A null output of an ended command is in a file. */
export function createExecStore(database: Database): ExecStore {
  return {
    insert: async (record) => {
      const sql = `INSERT INTO execs (id, box_id, status, record, bytes)
        SELECT ?, id, ?, ?, 0 FROM boxes WHERE id = ?`
      const text = JSON.stringify(record)
      // Synced at once, because a client that lists the command may repeat its request by then.
      database.run(sql, record.id, record.status, text, record.boxId)
    },
    finish: async ({ record, output, fileBytes }, keep) =>
      database.transactionSoon(() => {
        const { stdout, stderr } = output
        const text = JSON.stringify(record)
        const outputBytes = (stdout?.length ?? 0) + (stderr?.length ?? 0) + fileBytes
        const bytes = Buffer.byteLength(text) + outputBytes
        const sql = 'UPDATE execs SET status = ?, record = ?, stdout = ?, stderr = ?, bytes = ? WHERE id = ?'
        const rows = database.run(sql, record.status, text, stdout, stderr, bytes, record.id)
        return rows === 0 ? [record.id] : prune(database, { ...record, outputBytes }, keep)
      }),
    get: async (boxId, id) => {
      const row = database.get('SELECT record, stdout, stderr FROM execs WHERE id = ? AND box_id = ?', id, boxId)
      if (!row) return null
      return { record: recordOf(row), output: { stdout: bytesOf(row.stdout), stderr: bytesOf(row.stderr) } }
    },
    list: async ({ boxId, status, after, limit }) => {
      const most = { limit, bytesMax: PAGE_BYTES }
      const { rows, hasMore } = database.page(LIST, most, boxId, after ?? '', status, status)
      return { records: rows.map(recordOf), hasMore }
    },
    running: async () =>
      database.all("SELECT record FROM execs WHERE status = 'running' ORDER BY id").map((row) => recordOf(row)),
    lose: async (ids, endedAt) =>
      database.transaction(() => {
        for (const id of ids) database.run(LOSE, endedAt, id)
      }),
    withFiles: async () =>
      database
        .all('SELECT id, box_id FROM execs WHERE stdout IS NULL OR stderr IS NULL')
        .map((row) => ({ boxId: String(row.box_id), execId: String(row.id) })),
  }
}

function prune(
  database: Database,
  { id, boxId, outputBytes }: Pick<ExecRecord, 'id' | 'boxId'> & { outputBytes: number },
  keep: ExecBounds,
): string[] {
  const sums = database.get(
    "SELECT count(*) AS n, sum(bytes) AS bytes FROM execs WHERE box_id = ? AND status <> 'running'",
    boxId,
  )
  let [records, bytes] = [Number(sums?.n), Number(sums?.bytes)]
  const dropped: string[] = []
  const drop = (row: Row, left: number): void => {
    dropped.push(String(row.id))
    bytes -= Number(row.bytes) - left
  }
  const remove = (oldest: Row): void => {
    database.run('DELETE FROM execs WHERE id = ?', String(oldest.id))
    records--
    drop(oldest, 0)
  }
  const empty = (oldest: Row): void => {
    database.run(
      "UPDATE execs SET stdout = x'', stderr = x'', bytes = octet_length(record) WHERE id = ?",
      String(oldest.id),
    )
    drop(oldest, Number(oldest.length))
  }
  while (records > keep.records) {
    const oldest = database.get(OLDEST, boxId, id)
    if (!oldest) break
    remove(oldest)
  }
  // Drops output before records. The output of this one command never costs other records.
  while (bytes > keep.bytes) {
    const oldest = database.get(OLDEST_WITH_OUTPUT, boxId, id)
    if (!oldest) break
    empty(oldest)
  }
  while (bytes - outputBytes > keep.bytes) {
    const oldest = database.get(OLDEST, boxId, id)
    if (!oldest) break
    remove(oldest)
  }
  return [...new Set(dropped)]
}

function recordOf(row: Row): ExecRecord {
  return JSON.parse(String(row.record)) as ExecRecord
}

function bytesOf(value: Row[string] | undefined): Uint8Array | null {
  return value instanceof Uint8Array ? value : null
}

// One text for all queries, so that each uses the same prepared statement.
const LIST = 'SELECT record FROM execs WHERE box_id = ? AND id > ? AND (? IS NULL OR status = ?) ORDER BY id'
const LOSE = `UPDATE execs SET status = 'lost', stdout = x'', stderr = x'',
  record = json_set(record, '$.status', 'lost', '$.endedAt', ?) WHERE id = ? AND status = 'running'`
const ENDED = "FROM execs WHERE box_id = ? AND status <> 'running' AND id <> ?"
const OLDEST = `SELECT id, bytes, octet_length(record) AS length ${ENDED} ORDER BY id LIMIT 1`
const OLDEST_WITH_OUTPUT = `SELECT id, bytes, octet_length(record) AS length ${ENDED} AND bytes > octet_length(record) ORDER BY id LIMIT 1`
