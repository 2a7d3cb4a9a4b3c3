import type { QuotaRecord, QuotaStore } from '../../ports/store/volumes.ts'
import type { Database } from './database.ts'
import { listProjects, SUMS_OF_USE, useOfRow } from './projects.ts'

/** Creates the store of quotas in SQLite, which also sums the usage of the records. */
export function createQuotaStore(database: Database): QuotaStore {
  return {
    get: async (project) => {
      const row = database.get('SELECT record FROM quotas WHERE project = ?', project)
      return row ? (JSON.parse(String(row.record)) as QuotaRecord) : null
    },
    set: async (project, record) => {
      const sql =
        'INSERT INTO quotas (project, record) VALUES (?, ?) ON CONFLICT (project) DO UPDATE SET record = excluded.record'
      database.run(sql, project, JSON.stringify(record))
    },
    recordBytes: async (project) => {
      const row = database.get(RECORD_BYTES, project)
      return { own: Number(row?.own), all: Number(row?.all_bytes) }
    },
    list: async (query) => listProjects(database, query),
    usage: async (project) => useOfRow(project === null ? database.get(USE_OF_ALL) : database.get(USE, project)),
  }
}

// A row for each project that has boxes, kept by triggers.
const RECORD_BYTES = `
  SELECT coalesce(sum(CASE project WHEN ? THEN bytes END), 0) AS own, coalesce(sum(bytes), 0) AS all_bytes FROM record_bytes`
// A row for each box and volume, which triggers maintain. SQLite recomputes columns derived from records in each query, even with an index
// on them.
const USE_OF_ALL = `SELECT ${SUMS_OF_USE} FROM project_use`
const USE = `${USE_OF_ALL} WHERE project = ?`
