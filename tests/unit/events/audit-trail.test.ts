import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { encodeCursor } from '../../../agent/core/common/paging.ts'
import { type AuditLog, createAuditLog, createSingleAuditCursors } from '../../../agent/core/events/audit-list.ts'
import { type AuditTrail, createAuditTrail } from '../../../agent/core/events/audit-trail.ts'
import { createOwnHistory } from '../../../agent/core/events/own-history.ts'
import { noOtherHistories } from '../../../agent/drivers/fleet/no-other-histories.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { AuditRecord } from '../../../agent/ports/store/events.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { CALLER } from '../../helpers/caller.ts'
import { eventually } from '../../helpers/eventually.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

type Entry = AuditRecord & { account: string }

const PAGE = { max_results: 1000 }
const caller = { ...CALLER, projects: '*' } as const
let directory: string
let store: Store
let trail: AuditTrail
let log: AuditLog
let wake: () => void = () => undefined

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-audit-'))
  store = openSqliteStore(join(directory, 'boxyard.db'))
  const sleep = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
    })
  trail = createAuditTrail({ store, logger: silentLogger, clock: { now: () => 0, sleep } })
  const cell = '00'
  const own = createOwnHistory({ cell, store, trail, aloneThrough: 0 })
  log = createAuditLog({ own, others: noOtherHistories(), cursors: createSingleAuditCursors(cell) })
})

afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

function entry(at: number, changes: Partial<Entry> = {}): Entry {
  return {
    account: 'token tok_a',
    ...{ at, operation: 'createBox', method: 'POST', target: '/', project: 'demo', actor: 'tok_a', actorName: 'ci' },
    ...{ clientAddress: '', requestId: `req_${at}`, durationMs: 1, status: 201, code: null },
    ...changes,
  }
}

const kept = async (): Promise<number> =>
  (await store.audit.read({ ...ANY, projects: '*', before: null, limit: 1000 })).records.length

test('a page before a number that was made up begins with the newest', async () => {
  await store.audit.add([entry(1), entry(2)])
  const { records } = await log.list(caller, { ...PAGE, continuation_token: encodeCursor(['9007199254740991']) })
  expect(records.map(({ at }) => at)).toEqual([2, 1])
})

test('entries are written in batches, a little later', async () => {
  for (const at of [1, 2, 3]) trail.add(entry(at))
  expect(await kept()).toBe(0)
  wake()
  await eventually(async () => (await kept()) === 3)
  trail.add(entry(4))
  wake()
  await eventually(async () => (await kept()) === 4)
})

test('a list has new entries, pages without gaps, and ends', async () => {
  for (let at = 1; at <= 25; at++) trail.add(entry(at, { project: at % 2 === 0 ? 'even' : 'odd' }))
  const seen: number[] = []
  for (let token: string | undefined; ; ) {
    const { records, next } = await log.list(caller, {
      ...{ max_results: 5, project: 'even' },
      ...(token === undefined ? {} : { continuation_token: token }),
    })
    seen.push(...records.map(({ at }) => at))
    if (next === null) break
    token = next
  }
  expect(seen).toEqual([24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2])
})

test('entries without a valid token cannot push out the others', async () => {
  for (let at = 1; at <= 100; at++) trail.add(entry(at, { actor: null, status: 401 }))
  trail.add(entry(101))
  const { records } = await log.list(caller, PAGE)
  expect([records.length, records[0]?.at]).toEqual([11, 101])
})

test('old ones are pruned by age and by count', async () => {
  for (let at = 1; at <= 10; at++) trail.add(entry(at))
  await trail.flush()
  await store.audit.prune(4, 100)
  expect(await kept()).toBe(7)
  await store.audit.prune(0, 2)
  expect(await kept()).toBe(2)
})

test('who writes most loses the oldest, and others keep theirs', async () => {
  for (let at = 1; at <= 20; at++) trail.add(entry(at, { account: 'token loud' }))
  for (let at = 21; at <= 24; at++) trail.add(entry(at, { account: 'token quiet', project: 'quiet' }))
  for (let at = 25; at <= 40; at++) trail.add(entry(at, { account: 'token loud' }))
  await trail.flush()
  await store.audit.prune(0, 10)
  const { records } = await log.list(caller, PAGE)
  expect(records.map(({ at }) => at)).toEqual([40, 39, 38, 37, 36, 35, 24, 23, 22, 21])
  expect(records[0]).not.toHaveProperty('account')
})

const ANY = { project: null, actor: null, operation: null, status: null }
