import type { QuotaRecord, QuotaStore } from '../../ports/store/volumes.ts'
import type { Database } from './database.ts'

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
    usage: async (project) => {
      const boxes = database.get(BOXES, project)
      const volumes = database.get(VOLUMES, project)
      return {
        boxes: Number(boxes?.boxes),
        volumes: Number(volumes?.volumes),
        cpus: Number(boxes?.cpus),
        ramMb: Number(boxes?.ram_mb),
        storageGb: Number(boxes?.storage_gb) + Number(volumes?.storage_gb),
      }
    },
  }
}

// A row for each project that has boxes, kept by triggers.
const RECORD_BYTES = `
  SELECT coalesce(sum(CASE project WHEN ? THEN bytes END), 0) AS own, coalesce(sum(bytes), 0) AS all_bytes FROM record_bytes`
const BOXES = `
  SELECT count(*) AS boxes, total(storage_gb) AS storage_gb,
    total(CASE power WHEN 'running' THEN cpus END) AS cpus, total(CASE power WHEN 'running' THEN ram_mb END) AS ram_mb
  FROM boxes INDEXED BY boxes_by_use WHERE ?1 IS NULL OR project = ?1`
const VOLUMES = `
  SELECT count(*) AS volumes, total(size_gb) AS storage_gb FROM volumes INDEXED BY volumes_by_use
  WHERE ?1 IS NULL OR project = ?1`
