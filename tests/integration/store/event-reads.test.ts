import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type Database, openDatabase, type PageBounds } from '../../../agent/drivers/store/database.ts'
import { createEventStore } from '../../../agent/drivers/store/events.ts'
import type { EventQuery, EventStore } from '../../../agent/ports/store/events.ts'

const ROWS = 30_000
let directory: string
let database: Database
let events: EventStore
/** SQLite's query plans for each query since the last read, and the number of rows returned. */
let looked: { plans: string[]; rows: number }

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-event-reads-'))
  database = openDatabase(join(directory, 'boxyard.db'), { ballast: null })
  events = createEventStore({ ...database, all: allWatched, page: pageWatched }, () => () => undefined)
  // Nine of ten rows belong to loud, one to calm. Every hundredth row has another type. Only the last row belongs to rare.
  const audience = `CASE WHEN i = ${ROWS} THEN 'rare' WHEN i % 10 = 0 THEN 'calm' ELSE 'loud' END`
  database.run(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
    INSERT INTO events (at, type, audience, record)
      SELECT i, iif(i % 100 IN (0, 1), 'data.created', 'box.running'), ${audience}, json_object('at', i) FROM n`)
})

afterEach(() => {
  database.close()
  rmSync(directory, { recursive: true, force: true })
})

type Values = Parameters<Database['all']>[1][]

function allWatched(sql: string, ...values: Values): ReturnType<Database['all']> {
  return watched(database.all(sql, ...values), sql, values)
}

function pageWatched(sql: string, most: PageBounds, ...values: Values): ReturnType<Database['page']> {
  const page = database.page(sql, most, ...values)
  return { ...page, rows: watched(page.rows, sql, values) }
}

function watched<R>(rows: R[], sql: string, values: Values): R[] {
  const plan = database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail))
  looked.plans.push(...plan.filter((detail) => /\bevents\b|B-TREE/.test(detail)))
  looked.rows += rows.length
  return rows
}

async function read(query: Partial<EventQuery> & { projects: string[] | '*' }) {
  looked = { plans: [], rows: 0 }
  const { projects, ...others } = query
  const page = await events.read({
    ...{ scope: { projects, shared: false, admin: false }, types: [], after: 0, limit: 1_000 },
    ...others,
  })
  return { ...page, numbers: page.events.map(({ number }) => number) }
}

/** Reads all pages. Returns the numbers, and the largest number of rows read for one page. */
async function readAll(query: Parameters<typeof read>[0]): Promise<{ numbers: number[]; most: number }> {
  const numbers: number[] = []
  for (let [after, most] = [0, 0]; ; ) {
    const page = await read({ ...query, after })
    numbers.push(...page.numbers)
    most = Math.max(most, looked.rows)
    if (!page.hasMore) return { numbers, most }
    expect(page.through).toBeGreaterThan(after)
    after = page.through
  }
}

const numbersWhere = (isOne: (number: number) => boolean): number[] =>
  Array.from({ length: ROWS }, (_, index) => index + 1).filter(isOne)

const BY_AUDIENCE = 'SEARCH events USING INDEX events_by_audience (audience=? AND number>? AND number<?)'
const BY_NUMBER = 'SEARCH events USING INTEGER PRIMARY KEY (rowid=?)'

test('a read of projects looks only at rows of their own, by the index', async () => {
  await read({ projects: ['calm', 'rare'], types: ['box.'] })
  expect(looked.plans).toEqual([BY_AUDIENCE, BY_AUDIENCE, BY_NUMBER])
  expect(await read({ projects: ['rare'] })).toMatchObject({ numbers: [ROWS], through: ROWS, hasMore: false })
  expect(looked.rows).toBe(2)
  expect(await read({ projects: ['nobodys'] })).toMatchObject({ numbers: [], through: ROWS, hasMore: false })
  expect(looked.rows).toBe(0)
})

test('a read of all projects goes on from its cursor by number', async () => {
  await read({ projects: '*', after: 7 })
  expect(looked.plans).toEqual(['SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)', BY_NUMBER])
})

test('a read for types that match nothing looks at some hundred rows at a time', async () => {
  const types = Array.from({ length: 64 }, (_, index) => `none_${index}.`)
  for (const projects of ['*' as const, ['loud'], ['loud', 'calm', 'rare', 'nobodys']]) {
    const { numbers, most } = await readAll({ projects, types })
    expect(numbers).toEqual([])
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThanOrEqual(510)
  }
})

test('pages of several projects together are all of their events, in order', async () => {
  const isCalm = (number: number): boolean => number % 10 === 0 && number < ROWS
  const both = await readAll({ projects: ['rare', 'calm', 'nobodys'] })
  expect(both.numbers).toEqual(numbersWhere((number) => isCalm(number) || number === ROWS))
  const typed = await readAll({ projects: ['calm', 'loud'], types: ['data.created'], limit: 3 })
  expect(typed.numbers).toEqual(numbersWhere((number) => number % 100 < 2 && number < ROWS))
  const all = await readAll({ projects: '*', types: ['box.', 'data.'] })
  expect(all.numbers).toEqual(numbersWhere(() => true))
})
