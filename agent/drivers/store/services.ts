import type { ServiceRecord, ServiceStore } from '../../ports/store/services.ts'
import type { Database, Row } from './database.ts'
import { freeDomains, publishDomains } from './domains.ts'
import { inPages, PAGE } from './pages.ts'

/** Creates the store of services in SQLite: records as JSON, by box and name. */
export function createServiceStore(database: Database): ServiceStore {
  return {
    insert: async (record, max) =>
      database.transaction(() => {
        const { boxId, name, version } = record
        if (database.get('SELECT 1 FROM boxes WHERE id = ?', boxId) === null) return 'box_gone'
        const count = Number(database.get('SELECT count(*) AS n FROM services WHERE box_id = ?', boxId)?.n ?? 0)
        const sql = `INSERT INTO services (box_id, name, version, record) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
        if (database.get('SELECT 1 FROM services WHERE box_id = ? AND name = ?', boxId, name)) return 'name_taken'
        if (count >= max) return 'too_many'
        database.run(sql, boxId, name, version, JSON.stringify(record))
        return 'stored'
      }),
    get: async (boxId, name) => {
      const row = database.get('SELECT record FROM services WHERE box_id = ? AND name = ?', boxId, name)
      return row ? recordOf(row) : null
    },
    replace: async (record) => replace(database, record),
    publish: async (record) =>
      publishDomains(
        database,
        { boxId: record.boxId, service: record.name },
        { domains: record.domains, write: () => replace(database, record) },
      ),
    remove: async (boxId, name, version) =>
      database.freeing(() =>
        database.transaction(() => {
          const sql = 'DELETE FROM services WHERE box_id = ? AND name = ? AND version = ?'
          if (database.run(sql, boxId, name, version) === 0) return false
          freeDomains(database, { boxId, service: name })
          return true
        }),
      ),
    of: async (boxId) =>
      database.all('SELECT record FROM services WHERE box_id = ? ORDER BY name', boxId).map(recordOf),
    keys: async () =>
      database
        .all('SELECT box_id, name FROM services ORDER BY box_id, name')
        .map((row) => ({ boxId: String(row.box_id), name: String(row.name) })),
    each: () => inPages(readAfter(database, EACH)),
    eachWithFork: () => inPages(readAfter(database, EACH_WITH_FORK)),
  }
}

function readAfter(database: Database, sql: string): (last: ServiceRecord | null) => ServiceRecord[] {
  return (last) => database.all(sql, last?.boxId ?? '', last?.name ?? '').map(recordOf)
}

function replace(database: Database, record: ServiceRecord): boolean {
  const { boxId, name, version } = record
  const sql = 'UPDATE services SET version = ?, record = ? WHERE box_id = ? AND name = ? AND version = ?'
  return database.run(sql, version, JSON.stringify(record), boxId, name, version - 1) === 1
}

function recordOf(row: Row): ServiceRecord {
  return JSON.parse(String(row.record)) as ServiceRecord
}

const EACH = `SELECT record FROM services WHERE (box_id, name) > (?, ?) ORDER BY box_id, name LIMIT ${PAGE}`
// The condition is that of the index: in text as JSON.stringify writes it, only the key itself matches, and no value.
const EACH_WITH_FORK = `SELECT record FROM services INDEXED BY services_with_fork
  WHERE instr(record, '"fork":{') > 0 AND (box_id, name) > (?, ?) ORDER BY box_id, name LIMIT ${PAGE}`
