import type { ProjectQuery, ProjectUse, QuotaRecord, Usage } from '../../ports/store/volumes.ts'
import type { Database, Row } from './database.ts'

/**
 * Lists a page of projects that have resources. Finds their names by a few index seeks for each, and sums their usage only from indexes, so
 * that it reads no record of a box.
 */
export function listProjects(
  database: Database,
  { projects, prefix, after, limit }: ProjectQuery,
): { records: ProjectUse[]; hasMore: boolean } {
  const following = after === null ? '' : after + BELOW_ALL
  const range = [following > prefix ? following : prefix, prefix + ABOVE_ALL, limit + 1] as const
  const rows =
    projects === '*'
      ? database.all(NAMES_OF_ALL, ...range)
      : database.all(NAMES_WITHIN, ...range, JSON.stringify(projects))
  const names = rows.slice(0, limit).map(({ project }) => String(project))
  return { records: sumUse(database, names), hasMore: rows.length > limit }
}

function sumUse(database: Database, names: readonly string[]): ProjectUse[] {
  const found = new Map(names.map((project) => [project, projectWithout(project)]))
  const page = JSON.stringify(names)
  const each = (sql: string, add: (project: ProjectUse, row: Row) => void): void => {
    for (const row of database.all(sql, page)) {
      const project = found.get(String(row.project))
      if (project !== undefined) add(project, row)
    }
  }
  each(USE, (project, row) => {
    project.used = useOfRow(row)
    project.boxes.other = project.used.boxes
  })
  each(STATUSES, ({ boxes }, row) => {
    boxes[row.status as 'running' | 'stopped'] = Number(row.boxes)
    boxes.other -= Number(row.boxes)
  })
  each(QUOTAS, (project, row) => {
    project.quota = JSON.parse(String(row.record)) as QuotaRecord
  })
  return [...found.values()]
}

/** The sums of `project_use`, which has a row for each box and volume. */
export const SUMS_OF_USE = `count(*) FILTER (WHERE is_box) AS boxes, count(*) FILTER (WHERE NOT is_box) AS volumes,
  total(cpus) AS cpus, total(ram_mb) AS ram_mb, total(storage_gb) AS storage_gb`

/** Returns the sums that `SUMS_OF_USE` computed. */
export function useOfRow(row: Row | null): Usage {
  return {
    boxes: Number(row?.boxes),
    volumes: Number(row?.volumes),
    cpus: Number(row?.cpus),
    ramMb: Number(row?.ram_mb),
    storageGb: Number(row?.storage_gb),
  }
}

function projectWithout(project: string): ProjectUse {
  const used: Usage = { boxes: 0, volumes: 0, cpus: 0, ramMb: 0, storageGb: 0 }
  return { project, quota: null, used, boxes: { running: 0, stopped: 0, other: 0 } }
}

const LIMITS = ['boxes', 'cpus', 'ramMb', 'storageGb'] as const satisfies readonly (keyof QuotaRecord)[]
// The tables with names of projects. Each has its condition, and an index with the names in order.
const HOLDERS = [
  ['project_use', ''],
  ['bases', "AND project <> '' AND record ->> '$.cell' IS NULL"],
  ['backups INDEXED BY backups_by_project', "AND status <> 'failed'"],
  // A quota without any limit does not count.
  ['quotas', `AND coalesce(${LIMITS.map((limit) => `record ->> '$.${limit}'`).join(', ')}) IS NOT NULL`],
] as const

/** Returns SQL for the lowest project with resources, among those from `from` on. */
function lowestFrom(from: string): string {
  const lowest = HOLDERS.map(
    ([table, where]) =>
      `SELECT (SELECT project FROM ${table} WHERE project >= ${from} ${where} ORDER BY project LIMIT 1) AS found`,
  )
  return `(SELECT min(found) FROM (${lowest.join(' UNION ALL ')}))`
}

// These sort below and above any continuation of a name.
const BELOW_ALL = ' '
const ABOVE_ALL = '\u{10FFFF}'

const NAMES_OF_ALL = `
  WITH RECURSIVE names (project) AS (
    SELECT ${lowestFrom('?1')}
    UNION ALL SELECT ${lowestFrom(`(names.project || '${BELOW_ALL}')`)} FROM names WHERE names.project < ?2
  )
  SELECT project FROM names WHERE project < ?2 LIMIT ?3`
const NAMES_WITHIN = `
  SELECT value AS project FROM json_each(?4) WHERE value >= ?1 AND value < ?2
    AND (${HOLDERS.map(([table, where]) => `EXISTS (SELECT 1 FROM ${table} WHERE project = value ${where})`).join(' OR ')})
  GROUP BY value ORDER BY value LIMIT ?3`

const IN_PAGE = 'project IN (SELECT value FROM json_each(?1)) GROUP BY project'
const USE = `SELECT project, ${SUMS_OF_USE} FROM project_use WHERE ${IN_PAGE}`
const STATUSES = `
  SELECT project, status, count(*) AS boxes FROM boxes INDEXED BY boxes_by_status
  WHERE status IN ('running', 'stopped') AND ${IN_PAGE}, status`
const QUOTAS = 'SELECT project, record FROM quotas WHERE project IN (SELECT value FROM json_each(?1))'
