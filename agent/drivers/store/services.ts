import type { InstanceRecord, ServiceOutline, ServiceRecord, ServiceStore } from '../../ports/store/services.ts'
import type { Database, Row } from './database.ts'
import { freeDomains, publishDomains } from './domains.ts'
import { inPages, PAGE, PAGE_BYTES } from './pages.ts'

/** Creates the store of services in SQLite: records as JSON, by box and name. */
export function createServiceStore(database: Database): ServiceStore {
  return {
    insert: async (record, max) =>
      database.transaction(() => {
        const { boxId, name, version } = record
        if (database.get('SELECT 1 FROM boxes WHERE id = ?', boxId) === null) return 'box_gone'
        const count = Number(database.get('SELECT count(*) AS n FROM services WHERE box_id = ?', boxId)?.n ?? 0)
        const sql = 'INSERT INTO services (box_id, name, version, record, outline) VALUES (?, ?, ?, ?, ?)'
        if (database.get('SELECT 1 FROM services WHERE box_id = ? AND name = ?', boxId, name)) return 'name_taken'
        if (count >= max) return 'too_many'
        database.run(sql, boxId, name, version, JSON.stringify(record), outlineOf(record))
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
    outline: async (boxId, name) => {
      const row = database.get(OUTLINE, boxId, name)
      return row === null ? null : outlined(row)
    },
    of: async (boxId) => database.all(OUTLINES, boxId).map(outlined),
    names: async (boxId, { prefix, after, limit }) => {
      const { rows, hasMore } = database.page(
        NAMES,
        { limit, bytesMax: PAGE_BYTES },
        boxId,
        after,
        prefix,
        `${prefix}\u{10FFFF}`,
      )
      return { names: rows.map(({ name }) => String(name)), hasMore }
    },
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
  const sql = 'UPDATE services SET version = ?, record = ?, outline = ? WHERE box_id = ? AND name = ? AND version = ?'
  return database.run(sql, version, JSON.stringify(record), outlineOf(record), boxId, name, version - 1) === 1
}

function outlineOf(record: ServiceRecord): string {
  const { boxId, name, domains, spec, active, preview, previous, next, retired } = record
  const versionOf = (each: InstanceRecord | null) =>
    each && {
      spec: portOf(each.spec),
      fork: each.fork && { boxId: each.fork.boxId },
      port: each.port,
      runs: each.runs.slice(-1).map(({ execId, end }) => ({ execId, end })),
    }
  const failure = preview?.failure ? { why: preview.failure.why } : null
  const candidate = versionOf(preview)
  return JSON.stringify({
    ...{ boxId, name, domains, spec: { ...portOf(spec), needs: spec.needs }, active: versionOf(active) },
    ...{ preview: candidate && { ...candidate, failure }, previous: versionOf(previous), next: versionOf(next) },
    retired: retired.flatMap((each) => versionOf(each) ?? []),
  } satisfies ServiceOutline)
}

function portOf({ port, protocol }: ServiceRecord['spec']): Pick<ServiceRecord['spec'], 'port' | 'protocol'> {
  return protocol === undefined ? { port } : { port, protocol }
}

function recordOf(row: Row): ServiceRecord {
  return JSON.parse(String(row.record)) as ServiceRecord
}

function outlined({ outline }: Row): ServiceOutline {
  return JSON.parse(String(outline)) as ServiceOutline
}

const OUTLINE = 'SELECT outline FROM services INDEXED BY services_outlines WHERE box_id = ? AND name = ?'
const OUTLINES = 'SELECT outline FROM services INDEXED BY services_outlines WHERE box_id = ? ORDER BY name'
// Takes the length of a record without reading it.
const NAMES = `SELECT name, octet_length(record) AS bytes FROM services
  WHERE box_id = ? AND name > ? AND name >= ? AND name < ? ORDER BY name`
const EACH = `SELECT record FROM services WHERE (box_id, name) > (?, ?) ORDER BY box_id, name LIMIT ${PAGE}`
// The condition must equal the one of the index. In the text that JSON.stringify writes, only the key itself matches, and no value.
const EACH_WITH_FORK = `SELECT record FROM services INDEXED BY services_with_fork
  WHERE instr(record, '"fork":{') > 0 AND (box_id, name) > (?, ?) ORDER BY box_id, name LIMIT ${PAGE}`
