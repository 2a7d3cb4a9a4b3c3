import { chmodSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { Logger } from '../../../shared/log.ts'
import type { UsageHistory, UsagePoint, UsageQuery } from '../../ports/store/usage-history.ts'
import type { Row } from './database.ts'
import { convertSqliteError, isDamaged } from './errors.ts'

/**
 * Opens the history in the SQLite file at `path`, at its first use. Never syncs it. If this process dies, uncommitted points are lost. If
 * the host dies, some minutes are lost, or the whole file, which is then recreated.
 */
export function openUsageHistory(path: string, logger: Logger): UsageHistory {
  let opened: DatabaseSync | null = null
  const attempt = <T>(work: (sqlite: DatabaseSync) => T): T => {
    opened ??= openFile(path)
    return work(opened)
  }
  const run = <T>(work: (sqlite: DatabaseSync) => T): T => {
    try {
      return attempt(work)
    } catch (error) {
      if (!isDamaged(error)) throw convertSqliteError(error, dirname(path))
      logger.warn('the history of metrics is damaged, starting a new one', { error })
      opened?.close()
      opened = null
      removeFiles(path)
      return attempt(work)
    }
  }
  return {
    append: async (stepMs, points) => run((sqlite) => append(sqlite, stepMs, points)),
    condense: async ({ fromMs, toMs }, at) => {
      const ends = endsOf({ stepMs: fromMs, after: at - toMs, until: at })
      for (let after = 0; ; ) {
        const last = run((sqlite) => Number(sqlite.prepare(NEXT_BOXES).get(after)?.['last'] ?? 0))
        if (last === 0) return
        const bounds = { ':after': after, ':last': last, ':ends': ends }
        const steps = { ':from': fromMs / 1000, ':to': toMs / 1000, ':at': at / 1000 }
        run((sqlite) => sqlite.prepare(CONDENSE).run({ ...bounds, ...steps }))
        after = last
        await setImmediate()
      }
    },
    read: async (boxId, query) =>
      run((sqlite) => {
        const rows = sqlite.prepare(READ).all(boxId, query.stepMs / 1000, endsOf(query))
        return rows.map((row) => pointOf(boxId, row))
      }),
    latest: async (stepMs) =>
      run((sqlite) => {
        const at = sqlite.prepare('SELECT max(at) AS at FROM points WHERE step = ?').get(stepMs / 1000)?.['at']
        return typeof at === 'number' ? at * 1000 : null
      }),
    prune: async ({ stepMs, after, until }) => {
      const step = stepMs / 1000
      const outside = [
        { step, above: -1, upTo: after / 1000 },
        { step, above: until / 1000, upTo: Number.MAX_SAFE_INTEGER },
      ]
      const isMore = outside.some((range) => run((sqlite) => dropSome(sqlite, range)))
      await setImmediate()
      return isMore
    },
    keep: async (boxIds) =>
      run((sqlite) => {
        const known = sqlite.prepare('SELECT id FROM boxes').all()
        const gone = known.map(({ id }) => String(id)).filter((id) => !boxIds.has(id))
        sqlite.prepare('DELETE FROM boxes WHERE id IN (SELECT value FROM json_each(?))').run(JSON.stringify(gone))
      }),
    close: async () => {
      opened?.close()
      opened = null
    },
  }
}

function openFile(path: string): DatabaseSync {
  const sqlite = new DatabaseSync(path)
  try {
    chmodSync(path, 0o600)
    sqlite.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
    const version = Number(sqlite.prepare('PRAGMA user_version').get()?.['user_version'])
    if (version === VERSION) return sqlite
    if (version === 0) sqlite.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${VERSION}; COMMIT`)
    if (version === 0) return sqlite
  } catch (error) {
    sqlite.close()
    throw error
  }
  // Another version of the program has left it.
  sqlite.close()
  removeFiles(path)
  return openFile(path)
}

function removeFiles(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
}

function append(sqlite: DatabaseSync, stepMs: number, points: readonly UsagePoint[]): void {
  const [addBox, insert] = [sqlite.prepare(ADD_BOX), sqlite.prepare(APPEND)]
  sqlite.exec('BEGIN')
  try {
    for (const { boxId, at, cpuCores, memoryBytes, cacheBytes, storageBytes, ...rates } of points) {
      const cpu = cpuCores === null ? null : Math.round(cpuCores * MICRO)
      const network = [Math.round(rates.receivedPerSecond), Math.round(rates.sentPerSecond)] as const
      addBox.run(boxId)
      insert.run(stepMs / 1000, at / 1000, boxId, cpu, memoryBytes, cacheBytes, storageBytes, ...network)
    }
    sqlite.exec('COMMIT')
  } catch (error) {
    if (sqlite.isTransaction) sqlite.exec('ROLLBACK')
    throw error
  }
}

/** Drops the first points of a range of times. Returns whether there are more. */
function dropSome(sqlite: DatabaseSync, range: { step: number; above: number; upTo: number }): boolean {
  const { step, above, upTo } = range
  const last = sqlite.prepare(NTH_OF_RANGE).get(step, above, upTo)
  const isWhole = last === undefined
  const [at, box] = isWhole ? [upTo, Number.MAX_SAFE_INTEGER] : [Number(last['at']), Number(last['box'])]
  // SQLite would compare (at, box) <= (?, ?) with all of the range.
  sqlite.prepare('DELETE FROM points WHERE step = ? AND at > ? AND at < ?').run(step, above, at)
  sqlite.prepare('DELETE FROM points WHERE step = ? AND at = ? AND box <= ?').run(step, at, box)
  return !isWhole
}

/** Returns the seconds at which intervals end, as JSON. */
function endsOf({ stepMs, after, until }: UsageQuery): string {
  const ends: number[] = []
  for (let end = Math.floor(after / stepMs + 1) * stepMs; end <= until; end += stepMs) ends.push(end / 1000)
  return JSON.stringify(ends)
}

function pointOf(boxId: string, row: Row): UsagePoint {
  return {
    boxId,
    at: Number(row.at) * 1000,
    cpuCores: row.cpu === null ? null : Number(row.cpu) / MICRO,
    memoryBytes: Number(row.memory),
    cacheBytes: Number(row.cache),
    storageBytes: row.storage === null ? null : Number(row.storage),
    receivedPerSecond: Number(row.received),
    sentPerSecond: Number(row.sent),
  }
}

const VERSION = 1
// Never reuses a number, so that no box ever sees the points of another. The points of all boxes at one time are adjacent. So a minute
// takes a few pages to write and as many to drop, while reading a box takes a seek for each point.
const SCHEMA = `
  CREATE TABLE boxes (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE points (
    step INTEGER NOT NULL, at INTEGER NOT NULL, box INTEGER NOT NULL, cpu INTEGER, memory INTEGER NOT NULL,
    cache INTEGER NOT NULL, storage INTEGER, received INTEGER NOT NULL, sent INTEGER NOT NULL,
    PRIMARY KEY (step, at, box)
  ) STRICT, WITHOUT ROWID;`
const ADD_BOX = 'INSERT INTO boxes (id) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM boxes WHERE id = ?1)'
const APPEND = `INSERT OR REPLACE INTO points
  VALUES (?1, ?2, (SELECT number FROM boxes WHERE id = ?3), ?4, ?5, ?6, ?7, ?8, ?9)`
const READ = `SELECT points.* FROM json_each(?3) AS ends CROSS JOIN points ON step = ?2 AND at = ends.value
  AND box = (SELECT number FROM boxes WHERE id = ?1) ORDER BY ends.value`
/** Points to drop in one turn. */
const DROPPED_IN_A_ROW = 2_000
const NTH_OF_RANGE = `SELECT at, box FROM points WHERE step = ? AND at > ? AND at <= ?
  ORDER BY at, box LIMIT 1 OFFSET ${DROPPED_IN_A_ROW - 1}`
/** Boxes whose points are condensed in one turn. */
const BOXES_IN_A_ROW = 250
const NEXT_BOXES = `SELECT max(number) AS last FROM (
  SELECT number FROM boxes WHERE number > ? ORDER BY number LIMIT ${BOXES_IN_A_ROW})`
const AVERAGES = ['cpu', 'memory', 'cache', 'storage', 'received', 'sent'].map(
  (column) => `CAST(round(avg(${column})) AS INTEGER)`,
)
const CONDENSE = `INSERT OR REPLACE INTO points
  SELECT :to, :at, box, ${AVERAGES.join(', ')} FROM json_each(:ends) AS ends
  CROSS JOIN points ON step = :from AND at = ends.value AND box > :after AND box <= :last GROUP BY box`
const MICRO = 1e6
