import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { openDatabase } from '../../../agent/drivers/store/database.ts'
import { fairLevel } from '../../../agent/drivers/store/fair-level.ts'
import { MIGRATIONS } from '../../../agent/drivers/store/schema.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import type { TokenRecord, TokenRoom } from '../../../agent/ports/store/tokens.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'

let directory: string
let store: Store

useTemporaryStore((opened, home) => {
  store = opened
  directory = home
})

test.each([
  [[1, 2, 3], 6, Number.POSITIVE_INFINITY],
  [[1, 2, 30], 10, 7],
  [[30, 1, 30], 11, 5],
  [[5, 5, 5], 2, 0],
  [[], 1, Number.POSITIVE_INFINITY],
])('of amounts %j together at most %i are kept where each has at most %f', (amounts, total, level) => {
  expect(fairLevel(amounts, total)).toBe(level)
})

test('events of a project that has most are pruned first, and expire the cursors of its readers alone', async () => {
  const box = (name: string, project: string) => boxRecord({ id: newId('box', 1), name, project })
  await store.boxes.insert(box('early', 'quiet'))
  for (let i = 0; i < 20; i++) await store.boxes.insert(box(`b${i}`, 'loud'))
  await store.boxes.insert(box('late', 'quiet'))
  await store.events.prune(0, 10)
  const scopeOf = (...projects: string[]) => ({ projects, shared: false, admin: false })
  const numbers = async (scope: ReturnType<typeof scopeOf>) =>
    (await store.events.read({ scope, types: [], after: 0, limit: 100 })).events.map(({ number }) => number)
  expect(await numbers(scopeOf('quiet'))).toEqual([1, 22])
  expect(await numbers(scopeOf('loud'))).toEqual([14, 15, 16, 17, 18, 19, 20, 21])
  expect(await store.events.bounds(scopeOf('quiet'))).toEqual({ oldest: 1, newest: 22 })
  for (const scope of [scopeOf('loud', 'quiet'), undefined]) {
    expect(await store.events.bounds(scope)).toEqual({ oldest: 14, newest: 22 })
  }
})

test('operations are bounded: the oldest of the project that has most go first, but no job that runs', async () => {
  const add = (id: string, project: string, createdAt: number, changes: object = {}): Promise<void> =>
    store.operations.insert({
      ...{ id, kind: 'stop', boxId: 'box_a', project, name: 'web', generation: 1, createdAt, outcome: null },
      ...changes,
    })
  await add('job', 'loud', 0, { kind: 'backup.create', resource: '/x', requestId: 'req_1' })
  for (let i = 1; i <= 9; i++) await add(`loud_${i}`, 'loud', i)
  for (let i = 1; i <= 2; i++) await add(`quiet_${i}`, 'quiet', i)
  await store.operations.bound(6)
  const ids = ['job', 'loud_5', 'loud_6', 'loud_7', 'quiet_1', 'quiet_2']
  const found = await Promise.all(ids.map(async (id) => (await store.operations.get(id)) !== null))
  expect(found).toEqual([true, false, true, true, true, true])
})

describe('tokens', () => {
  const token = (id: string, changes: Partial<TokenRecord> = {}): TokenRecord => ({
    ...{ id, keyId: 'k', name: 'ci', projects: ['demo'], permissions: ['read'], expiresAt: null },
    ...{ createdAt: 1, createdBy: null, root: id, revokedAt: null },
    ...changes,
  })

  test('are counted while they live, by account and by the token that minted them', async () => {
    await store.tokens.insert(token('tok_1'))
    await store.tokens.insert(token('tok_2', { root: 'tok_1', createdBy: 'tok_1' }))
    await store.tokens.insert(token('tok_3', { root: 'tok_1', createdBy: 'tok_2', expiresAt: 50 }))
    await store.tokens.insert(token('tok_4', { createdBy: 'tok_1' }))
    const hasRoom = (of: TokenRoom['of'], most: number, now = 10) =>
      store.tokens.insert(token(newId('tok', 1)), { of, most, now })
    const root = { root: 'tok_1' }
    expect([await hasRoom(root, 3), await hasRoom(root, 4)]).toEqual([false, true])
    expect([await hasRoom(root, 2, 50), await hasRoom(root, 3, 50)]).toEqual([false, true])
    expect([await hasRoom({ createdBy: 'tok_1' }, 2), await hasRoom({ createdBy: 'tok_1' }, 3)]).toEqual([false, true])
    await store.tokens.revoke('tok_2', 20)
    expect([await hasRoom(root, 1), await hasRoom(root, 2)]).toEqual([false, true])
  })

  test('have room while fewer live than may', async () => {
    await store.tokens.insert(token('tok_1'))
    await store.tokens.insert(token('tok_2', { root: 'tok_1', createdBy: 'tok_1' }))
    const hasRoom = (most: number) => store.tokens.hasRoom({ of: { root: 'tok_1' }, most, now: 10 })
    expect([await hasRoom(2), await hasRoom(3)]).toEqual([false, true])
  })

  test('that are mirrored are there once, with the end and key that came last, and told of on demand', async () => {
    const { revokedAt: _, ...mirrored } = token('tok_1', { expiresAt: 50, cell: 'bb' })
    await store.tokens.mirror([mirrored], { isTold: false })
    await store.tokens.mirror([{ ...mirrored, expiresAt: 90, keyId: 'next', name: 'other' }], { isTold: false })
    expect(await store.tokens.get('tok_1')).toEqual({ ...mirrored, expiresAt: 90, keyId: 'next', revokedAt: null })
    await store.tokens.mirror([{ ...mirrored, expiresAt: null, keyId: null }], { isTold: false })
    expect(await store.tokens.get('tok_1')).toMatchObject({ expiresAt: null, keyId: null, name: 'ci' })
    expect(await store.tokens.revoke('tok_1', 60, { isTold: false })).toBe(1)
    expect(await store.tokens.revoke('tok_1', 70)).toBe(0)
    await store.tokens.mirror([{ ...mirrored, expiresAt: 99 }], { isTold: true })
    expect(await store.tokens.get('tok_1')).toMatchObject({ expiresAt: null, revokedAt: 60 })
    await store.tokens.mirror([{ ...mirrored, id: 'tok_2', root: 'tok_2' }], { isTold: true })
    // The host's command that created the token records it later.
    expect(await store.tokens.insert(token('tok_2', { name: 'late' }))).toBe(true)
    const scope = { projects: '*' as const, shared: true, admin: true }
    const { events } = await store.events.read({ scope, types: [], after: 0, limit: 10 })
    expect(events.map(({ record }) => [record.type, record.data['id']])).toEqual([['token.created', 'tok_2']])
  })

  test('and those minted with them expire at last at some time, or never', async () => {
    await store.tokens.insert(token('tok_1', { expiresAt: 50 }))
    await store.tokens.insert(token('tok_2', { createdBy: 'tok_1', expiresAt: 90 }))
    await store.tokens.insert(token('tok_3', { createdBy: 'tok_2', expiresAt: 70 }))
    expect(await Promise.all(['tok_1', 'tok_2', 'tok_3', 'tok_4'].map((id) => store.tokens.lastExpiry(id)))).toEqual([
      90,
      90,
      70,
      null,
    ])
    await store.tokens.insert(token('tok_5', { createdBy: 'tok_3' }))
    expect(await store.tokens.lastExpiry('tok_1')).toBeNull()
    await store.tokens.revoke('tok_3', 20)
    const page = await store.tokens.list({ createdBy: null, after: 'tok_1', limit: 10, unexpiredAt: 70 })
    expect(page.records.map(({ id, revokedAt }) => [id, revokedAt])).toEqual([
      ['tok_2', null],
      ['tok_5', 20],
    ])
  })

  test('minted in a session are revoked with it, at any remove, and not by its sign-out', async () => {
    await store.tokens.insert(token('tok_1'))
    await store.tokens.insert(token('tok_2', { createdBy: 'tok_1', isSession: true, expiresAt: 50 }))
    await store.tokens.insert(token('tok_3', { createdBy: 'tok_1', session: 'tok_2' }))
    await store.tokens.insert(token('tok_4', { createdBy: 'tok_1', session: 'tok_2', isSession: true, expiresAt: 60 }))
    await store.tokens.insert(token('tok_5', { createdBy: 'tok_1', session: 'tok_4', expiresAt: 90 }))
    await store.tokens.insert(token('tok_6', { createdBy: 'tok_5', expiresAt: 80 }))
    const [two, four] = [await store.tokens.lastExpiry('tok_2'), await store.tokens.lastExpiry('tok_4')]
    expect([two, four]).toEqual([null, 90])
    expect(await store.tokens.signOut('tok_2', 20, { isTold: true })).toBe(1)
    expect(await store.tokens.signOut('tok_2', 30, { isTold: true })).toBe(0)
    expect(await store.tokens.get('tok_2')).toMatchObject({ revokedAt: 20, signedOutAt: 20, expiresAt: 50 })
    const revokedAt = async (id: string) => (await store.tokens.get(id))?.revokedAt
    const all = ['tok_1', 'tok_2', 'tok_3', 'tok_4', 'tok_5', 'tok_6']
    expect(await Promise.all(all.map(revokedAt))).toEqual([null, 20, null, null, null, null])
    expect(await store.tokens.revoke('tok_2', 40)).toBe(4)
    expect(await Promise.all(all.map(revokedAt))).toEqual([null, 20, 40, 40, 40, 40])
  })

  test('that have ended are bounded: the first ended of the account that has most go first', async () => {
    for (let i = 1; i <= 9; i++) await store.tokens.insert(token(`loud_${i}`, { root: 'loud', expiresAt: i }))
    await store.tokens.insert(token('quiet', { expiresAt: 1 }))
    await store.tokens.insert(token('lives', { root: 'loud', expiresAt: 100 }))
    await store.tokens.bound(4, 50)
    const { records } = await store.tokens.list({ createdBy: null, after: null, limit: 100 })
    expect(records.map(({ id }) => id)).toEqual(['lives', 'loud_7', 'loud_8', 'loud_9', 'quiet'])
  })

  test('of an earlier version get the account of the chain that they were minted in', async () => {
    const path = join(directory, 'earlier.db')
    const earlier = openDatabase(path, { ballast: null, migrations: MIGRATIONS.slice(0, 6) })
    const insert = (id: string, createdBy: string | null, changes: object): void => {
      const { root: _root, ...record } = token(id, { createdBy, ...changes })
      const sql = 'INSERT INTO tokens (id, created_by, ends_at, record) VALUES (?, ?, NULL, ?)'
      earlier.run(sql, id, createdBy, JSON.stringify(record))
    }
    insert('tok_admin', null, { projects: '*', permissions: ['read', 'admin'] })
    insert('tok_tenant', 'tok_admin', {})
    insert('tok_child', 'tok_tenant', {})
    insert('tok_grandchild', 'tok_child', {})
    insert('tok_orphan', 'tok_gone', {})
    earlier.close()
    const migrated = openSqliteStore(path)
    const roots = (await migrated.tokens.list({ createdBy: null, after: null, limit: 10 })).records.map(
      ({ id, root }) => [id, root],
    )
    await migrated.close()
    expect(Object.fromEntries(roots)).toEqual({
      ...{ tok_admin: 'tok_admin', tok_tenant: 'tok_tenant', tok_child: 'tok_tenant' },
      ...{ tok_grandchild: 'tok_tenant', tok_orphan: 'tok_orphan' },
    })
  })
})
