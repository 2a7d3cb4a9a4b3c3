import type { DatabaseSync } from 'node:sqlite'
import { newId } from '../../../shared/ids.ts'
import type { Actor, ActorContext, EventRecord } from '../../ports/store/events.ts'
import {
  backupEvents,
  baseEvents,
  boxEvents,
  type Change,
  execEvents,
  type NewEvent,
  quotaEvents,
  serviceEvents,
  snapshotEvents,
  tokenEvents,
  volumeEvents,
} from './event-mapping.ts'

export interface OutboxDeps {
  /** Milliseconds since the epoch. */
  now(): number
  actorContext: Pick<ActorContext, 'current'>
  /** Called with their audiences soon after events were written, whether or not their transaction was committed. */
  onWritten(audiences: ReadonlySet<string>): void
}

/**
 * Writes the events of every change of a record in the commit of the change. Uses temporary triggers of this connection, because other
 * programs that open the file lack the SQL function. Returns a function that runs synchronous work without events about its changes.
 */
export function openOutbox(sqlite: DatabaseSync, deps: OutboxDeps): <T>(work: () => T) => T {
  const { now, actorContext, onWritten } = deps
  let isSilent = false
  let written = new Set<string>()
  const notifySoon = (audience: string): void => {
    const isScheduled = written.size > 0
    written.add(audience)
    if (isScheduled) return
    // Transactions are synchronous, so this one has ended by then.
    setImmediate(() => {
      const audiences = written
      written = new Set()
      onWritten(audiences)
    })
  }
  const write = (table: unknown, before: unknown, after: unknown): string => {
    if (isSilent) return '[]'
    const events = eventsOf(String(table), { before: parse(before), after: parse(after) })
    const [at, actor] = [now(), actorContext.current()]
    const rows = events.map((event) => rowOf(event, { at, actor }))
    for (const [, , audience] of rows) notifySoon(audience)
    return JSON.stringify(rows)
  }
  sqlite.function(FUNCTION, write)
  sqlite.exec(`PRAGMA temp_store = MEMORY; ${Object.keys(TABLES).flatMap(triggersOf).join('\n')}`)
  return (work) => {
    isSilent = true
    try {
      return work()
    } finally {
      isSilent = false
    }
  }
}

/** Values of the column `audience` beside the names of projects. */
export const AUDIENCES = { shared: '*', admins: '!' } as const

function eventsOf(table: string, change: Change<never>): NewEvent[] {
  return TABLES[table]?.events(change) ?? []
}

function rowOf(
  { isForAdmins = false, ...event }: NewEvent,
  { at, actor }: { at: number; actor: Actor | null },
): [at: number, type: string, audience: string, record: EventRecord] {
  const record: EventRecord = {
    id: newId('evt', at),
    at,
    ...event,
    data: cutTexts(event.data),
    actor: actor === null ? null : { id: actor.tokenId, name: actor.tokenName },
    requestId: actor?.requestId ?? null,
  }
  return [at, event.type, isForAdmins ? AUDIENCES.admins : (event.project ?? AUDIENCES.shared), record]
}

// A message of a box or of the kernel may have any length.
function cutTexts(data: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(data)
  if (text.length <= TEXT_CHARACTERS) return data
  const cut = (_key: string, value: unknown): unknown =>
    typeof value === 'string' && value.length > TEXT_CHARACTERS ? `${value.slice(0, TEXT_CHARACTERS)}…` : value
  return JSON.parse(JSON.stringify(data, cut)) as Record<string, unknown>
}

function parse(value: unknown): never | null {
  return typeof value === 'string' ? (JSON.parse(value) as never) : null
}

function triggersOf(table: string): string[] {
  const { row, changes, when } = TABLES[table] ?? { row: () => 'NULL', changes: [] }
  return changes.map((change) => {
    const [before, after] = [change === 'INSERT' ? 'NULL' : row('OLD'), change === 'DELETE' ? 'NULL' : row('NEW')]
    const condition = when === undefined ? '' : `WHEN ${when} `
    return `CREATE TEMP TRIGGER ${table}_on_${change.toLowerCase()} AFTER ${change} ON main.${table} ${condition}BEGIN
      INSERT INTO events (at, type, audience, record)
        SELECT value ->> 0, value ->> 1, value ->> 2, value -> 3 FROM json_each(${FUNCTION}('${table}', ${before}, ${after}));
    END;`
  })
}

interface OutboxTable {
  /** SQL of the record of a row as JSON, with the columns that its events also need. */
  row(alias: 'OLD' | 'NEW'): string
  changes: readonly ('INSERT' | 'UPDATE' | 'DELETE')[]
  /** SQL that selects the changes that may have events. Without it, all may. */
  when?: string
  events(change: Change<never>): NewEvent[]
}

const TEXT_CHARACTERS = 1_024
const FUNCTION = 'boxyard_events'
const record = (alias: string): string => `${alias}.record`
const ALL = ['INSERT', 'UPDATE', 'DELETE'] as const
const BOX = (alias: string): string =>
  `(SELECT json_object('project', project, 'box', name) FROM boxes WHERE id = ${alias}.box_id)`
const TABLES: Readonly<Record<string, OutboxTable>> = {
  boxes: { row: record, changes: ALL, events: boxEvents },
  services: { row: (alias) => `json_set(${alias}.record, '$.of', ${BOX(alias)})`, changes: ALL, events: serviceEvents },
  execs: {
    // Keeps only the fields of the record that its event needs, because a command may have 256 KiB.
    row: (alias) => `json_set(json_remove(${alias}.record, '$.command'), '$.of', json(${BOX(alias)}))`,
    changes: ['UPDATE'],
    when: "OLD.status = 'running' AND NEW.status <> 'running' AND NEW.record ->> '$.oomKills' > 0",
    events: execEvents,
  },
  volumes: { row: record, changes: ALL, events: volumeEvents },
  snapshots: { row: record, changes: ['INSERT', 'DELETE'], events: snapshotEvents },
  backups: { row: record, changes: ALL, events: backupEvents },
  bases: { row: record, changes: ['INSERT', 'DELETE'], events: baseEvents },
  quotas: {
    row: (alias) => `json_set(${alias}.record, '$.project', ${alias}.project)`,
    changes: ['INSERT', 'UPDATE'],
    events: quotaEvents,
  },
  tokens: {
    row: (alias) => `json_set(${alias}.record, '$.revokedAt', ${alias}.revoked_at)`,
    changes: ['INSERT', 'UPDATE'],
    events: tokenEvents,
  },
}
