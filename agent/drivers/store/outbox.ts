import type { DatabaseSync } from 'node:sqlite'
import { newId } from '../../../shared/ids.ts'
import type { ActorContext, EventRecord } from '../../ports/store/events.ts'
import {
  backupEvents,
  baseEvents,
  boxEvents,
  type Change,
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
  /** Called soon after events were written, whether or not their transaction was committed. */
  onWritten(): void
}

/**
 * Lets every change of a record write its events in the same commit, whoever makes it: by triggers of this connection alone, so
 * that what else opens the file needs nothing of it.
 */
export function openOutbox(sqlite: DatabaseSync, { now, actorContext, onWritten }: OutboxDeps): void {
  let isTold = true
  const tellSoon = (): void => {
    if (!isTold) return
    isTold = false
    // By then the transaction, which nothing can interrupt, is over.
    setImmediate(() => {
      isTold = true
      onWritten()
    })
  }
  const write = (table: unknown, before: unknown, after: unknown): string => {
    const drafts = draftsOf(String(table), { before: parse(before), after: parse(after) })
    if (drafts.length > 0) tellSoon()
    const [at, cause] = [now(), actorContext.current()]
    return JSON.stringify(drafts.map((draft) => rowOf(draft, { at, cause })))
  }
  sqlite.function(FUNCTION, write)
  sqlite.exec(`PRAGMA temp_store = MEMORY; ${Object.keys(TABLES).flatMap(triggersOf).join('\n')}`)
}

/** Who may read an event, as it stands in its row. */
export const AUDIENCES = { shared: '*', admins: '!' } as const

function draftsOf(table: string, change: Change<never>): NewEvent[] {
  return TABLES[table]?.events(change) ?? []
}

function rowOf(
  { isForAdmins = false, ...draft }: NewEvent,
  { at, cause }: { at: number; cause: ReturnType<ActorContext['current']> },
): [at: number, type: string, audience: string, record: EventRecord] {
  const record: EventRecord = {
    id: newId('evt', at),
    at,
    ...draft,
    actor: cause === null ? null : { id: cause.tokenId, name: cause.tokenName },
    requestId: cause?.requestId ?? null,
  }
  return [at, draft.type, isForAdmins ? AUDIENCES.admins : (draft.project ?? AUDIENCES.shared), record]
}

function parse(value: unknown): never | null {
  return typeof value === 'string' ? (JSON.parse(value) as never) : null
}

function triggersOf(table: string): string[] {
  const { row, changes } = TABLES[table] ?? { row: () => 'NULL', changes: [] }
  return changes.map((change) => {
    const [before, after] = [change === 'INSERT' ? 'NULL' : row('OLD'), change === 'DELETE' ? 'NULL' : row('NEW')]
    return `CREATE TEMP TRIGGER ${table}_on_${change.toLowerCase()} AFTER ${change} ON main.${table} BEGIN
      INSERT INTO events (at, type, audience, record)
        SELECT value ->> 0, value ->> 1, value ->> 2, value -> 3 FROM json_each(${FUNCTION}('${table}', ${before}, ${after}));
    END;`
  })
}

interface JournalTable {
  /** The record of a row as JSON, with what the events need besides. */
  row(alias: 'OLD' | 'NEW'): string
  changes: readonly ('INSERT' | 'UPDATE' | 'DELETE')[]
  events(change: Change<never>): NewEvent[]
}

const FUNCTION = 'boxyard_events'
const record = (alias: string): string => `${alias}.record`
const ALL = ['INSERT', 'UPDATE', 'DELETE'] as const
const BOX = (alias: string): string =>
  `(SELECT json_object('project', project, 'box', name) FROM boxes WHERE id = ${alias}.box_id)`
const TABLES: Readonly<Record<string, JournalTable>> = {
  boxes: { row: record, changes: ALL, events: boxEvents },
  services: { row: (alias) => `json_set(${alias}.record, '$.of', ${BOX(alias)})`, changes: ALL, events: serviceEvents },
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
