import type { BoxQuery } from '../../ports/store/boxes.ts'
import type { Database, Row } from './database.ts'
import { PAGE_BYTES } from './pages.ts'

/** Returns a page of `table` ordered by project and name, as rows with their `record`. Volumes have no status. */
export function listPage(
  database: Database,
  table: 'boxes' | 'volumes',
  query: BoxQuery,
): { rows: Row[]; hasMore: boolean } {
  const { projects, prefix, status, after, limit } = query
  const sorted = projects === '*' ? null : projects.toSorted()
  const from = sorted?.[0] ?? ''
  const start = after !== null && after.project >= from ? [after.project, after.name] : [from, '']
  const tags = new Set(query.tags.map((tag) => JSON.stringify(tag)))
  return database.page(
    LISTS[table],
    { limit, bytesMax: PAGE_BYTES },
    ...start,
    sorted === null ? LAST : (sorted.at(-1) ?? ''),
    sorted === null ? null : JSON.stringify(sorted),
    prefix,
    `${prefix}${LAST}`,
    status,
    `[${[...tags].join(',')}]`,
    tags.size,
  )
}

// Above every name.
const LAST = '\u{10FFFF}'

// One text for all queries, so that each uses the same prepared statement. A tag requested with and without its value counts twice on both
// sides.
function listOf(table: string, hasStatus: string): string {
  return `
  WITH wanted (key, value) AS MATERIALIZED (SELECT value ->> 0, value ->> 1 FROM json_each(?8))
  SELECT record FROM ${table}
  WHERE (project, name) > (?1, ?2) AND project <= ?3
    AND (?4 IS NULL OR project IN (SELECT value FROM json_each(?4)))
    AND name >= ?5 AND name < ?6 AND (?7 IS NULL OR ${hasStatus})
    AND (?9 = 0 OR ?9 = (
      SELECT count(*) FROM json_each(record, '$.tags') AS held CROSS JOIN wanted
      ON held.key = wanted.key AND (wanted.value IS NULL OR held.value = wanted.value)
    ))
  ORDER BY project, name`
}

const LISTS = { boxes: listOf('boxes', 'status = ?7'), volumes: listOf('volumes', 'FALSE') }
