import type { ExecRecord, ExecStore } from '../ports/store.ts'
import type { Database, Row } from './sqlite-database.ts'

/** Exec records in SQLite, with the kept end of their output. */
export function createExecStore(database: Database): ExecStore {
  return {
    insert: async (record) => {
      const sql = `INSERT INTO execs (id, box_id, status, record, bytes)
        SELECT ?, id, ?, ?, 0 FROM boxes WHERE id = ?`
      database.run(sql, record.id, record.status, JSON.stringify(record), record.boxId)
    },
    finish: async (record, output, keep) =>
      database.transaction(() => {
        const { stdout, stderr } = output
        const bytes = stdout.length + stderr.length
        const sql = 'UPDATE execs SET status = ?, record = ?, stdout = ?, stderr = ?, bytes = ? WHERE id = ?'
        database.run(sql, record.status, JSON.stringify(record), stdout, stderr, bytes, record.id)
        prune(database, record.boxId, keep)
      }),
    get: async (boxId, id) => {
      const row = database.get('SELECT record, stdout, stderr FROM execs WHERE id = ? AND box_id = ?', id, boxId)
      if (!row) return null
      return { record: recordOf(row), output: { stdout: bytesOf(row.stdout), stderr: bytesOf(row.stderr) } }
    },
    loseRunning: async (endedAt) =>
      database.transaction(() => {
        const rows = database.all("SELECT record FROM execs WHERE status = 'running'")
        for (const row of rows) {
          const record: ExecRecord = { ...recordOf(row), status: 'lost', endedAt }
          const sql = 'UPDATE execs SET status = ?, record = ? WHERE id = ?'
          database.run(sql, record.status, JSON.stringify(record), record.id)
        }
        return rows.length
      }),
  }
}

/** Drops the oldest ended records beyond a count, and beyond a sum of kept bytes; the newest stays. */
function prune(database: Database, boxId: string, keep: { records: number; bytes: number }): void {
  const sums = database.get(
    "SELECT count(*) AS n, sum(bytes) AS bytes FROM execs WHERE box_id = ? AND status <> 'running'",
    boxId,
  )
  let [records, bytes] = [Number(sums?.n), Number(sums?.bytes)]
  while (records > 1 && (records > keep.records || bytes > keep.bytes)) {
    const oldest = database.get(
      "SELECT id, bytes FROM execs WHERE box_id = ? AND status <> 'running' ORDER BY id LIMIT 1",
      boxId,
    )
    if (!oldest) return
    database.run('DELETE FROM execs WHERE id = ?', String(oldest.id))
    records -= 1
    bytes -= Number(oldest.bytes)
  }
}

function recordOf(row: Row): ExecRecord {
  return JSON.parse(String(row.record)) as ExecRecord
}

function bytesOf(value: Row[string] | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0)
}
