import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Database, Row } from './database.ts'

/** Replaces a record by compare-and-set, inside an open transaction if there is one. Attachments stay as stored. */
export function replaceBox(database: Database, record: BoxRecord): boolean {
  const sql = 'UPDATE boxes SET version = ?, status = ?, record = ? WHERE id = ? AND version = ?'
  return database.run(sql, record.version, ...storedBox(record), record.id, record.version - 1) === 1
}

/** Returns the columns of a record that follow its version. */
export function storedBox(record: BoxRecord): [status: string, json: string] {
  return [record.observed.status, JSON.stringify(record)]
}

/** Returns the record of a row, or null for none. */
export function boxOf(row: Row | null): BoxRecord | null {
  if (row === null) return null
  const record = JSON.parse(String(row.record)) as BoxRecord & { config: Partial<BoxRecord['config']> }
  // Records of earlier versions lack some fields. The order of the others stays, because the text of both reveals a change.
  const { network_mbps = null, disk_mbps = null, disk_iops = null, nesting = false } = record.config
  const { shm_mb = null, core_dumps = false } = record.config
  const config = { ...record.config, network_mbps, disk_mbps, disk_iops, nesting, shm_mb, core_dumps }
  return { ...record, config }
}
