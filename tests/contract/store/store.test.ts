import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { MIGRATIONS } from '../../../agent/drivers/store/schema.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { BoxQuery, BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'

let directory: string
let path: string
let store: Store

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-store-'))
  path = join(directory, 'boxyard.db')
  store = openSqliteStore(path)
})

afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

const ALL: BoxQuery = { projects: '*', prefix: '', status: null, tags: [], after: null, limit: 100 }

function box(name: string, overrides: Partial<BoxRecord> = {}): BoxRecord {
  return boxRecord({ id: newId('box', Date.now()), name, ...overrides })
}

describe('boxes', () => {
  test('a name is taken once in a project, and free in another', async () => {
    expect(await store.boxes.insert(box('web'))).toBe('stored')
    expect(await store.boxes.insert(box('web'))).toBe('name_taken')
    expect(await store.boxes.insert(box('web', { project: 'other' }))).toBe('stored')
  })

  test('a write to a version that is no longer current changes nothing', async () => {
    const record = box('web')
    await store.boxes.insert(record)
    expect(await store.boxes.replace({ ...record, version: 2, tags: { a: '1' } })).toBe(true)
    expect(await store.boxes.replace({ ...record, version: 2, tags: { b: '2' } })).toBe(false)
    expect((await store.boxes.byId(record.id))?.tags).toEqual({ a: '1' })
  })

  test('removing writes the tombstone in the same commit and frees the name', async () => {
    const record = box('web')
    await store.boxes.insert(record)
    const tombstone = { id: record.id, root: record.root, createdAt: 5 }
    expect(await store.boxes.remove(record.id, 99, tombstone)).toBe(null)
    expect(await store.tombstones.all()).toEqual([])
    expect(await store.boxes.remove(record.id, 1, tombstone)).toEqual([tombstone])
    expect(await store.tombstones.all()).toEqual([tombstone])
    expect(await store.boxes.get('demo', 'web')).toBeNull()
    expect(await store.boxes.insert(box('web'))).toBe('stored')
  })

  test('lists are ordered by project and name, paged without gaps, and filtered', async () => {
    for (const name of ['b', 'a', 'c', 'ab']) await store.boxes.insert(box(name, { tags: { name, team: 'x=y' } }))
    await store.boxes.insert(box('a', { project: 'another' }))
    const names = async (query: Partial<BoxQuery>): Promise<string[]> =>
      (await store.boxes.list({ ...ALL, ...query })).records.map((record) => `${record.project}/${record.name}`)
    expect(await names({})).toEqual(['another/a', 'demo/a', 'demo/ab', 'demo/b', 'demo/c'])
    expect(await names({ projects: ['demo'], prefix: 'a' })).toEqual(['demo/a', 'demo/ab'])
    expect(
      await names({
        tags: [
          ['name', 'b'],
          ['team', 'x=y'],
        ],
      }),
    ).toEqual(['demo/b'])
    expect(await names({ tags: [['name', null]] })).toHaveLength(4)
    expect(await names({ tags: [["na'me", null]] })).toEqual([])
    expect(await names({ status: 'running' })).toEqual([])
    expect(await names({ projects: ['zeta', 'another', 'alpha'] })).toEqual(['another/a'])
    expect(await names({ projects: [] })).toEqual([])
    const first = await store.boxes.list({ ...ALL, limit: 2 })
    expect(first.hasMore).toBe(true)
    const after = { project: 'demo', name: 'a' }
    expect(await names({ after })).toEqual(['demo/ab', 'demo/b', 'demo/c'])
    expect(await names({ after, projects: ['another', 'demo'], prefix: 'ab' })).toEqual(['demo/ab'])
    expect(await names({ after: { project: 'another', name: 'a' }, projects: ['demo'] })).toHaveLength(4)
  })

  test('a box is found by all of a thousand tags at once, each wanted once, twice, or without its value', async () => {
    const tags = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key-${index}`, `${index}`]))
    await store.boxes.insert(box('all', { tags }))
    await store.boxes.insert(box('some', { tags: { 'key-1': '1' } }))
    const wanted = Object.entries(tags)
    const found = async (asked: BoxQuery['tags']): Promise<string[]> =>
      (await store.boxes.list({ ...ALL, tags: asked })).records.map((record) => record.name)
    expect(await found([...wanted, ...wanted, ['key-1', null]])).toEqual(['all'])
    expect(await found([['key-1', '1']])).toEqual(['all', 'some'])
    expect(await found([...wanted, ['key-1', '2']])).toEqual([])
    expect(await found([['key-1\0', null]])).toEqual([])
  })
})

describe('idempotency', () => {
  const request = { token: 'tok_a', key: 'k', fingerprint: 'f', now: 1, account: 'token tok_a' }

  test('a key is free once, then in progress, then answered', async () => {
    expect(await store.idempotency.begin(request)).toBeNull()
    expect(await store.idempotency.begin(request)).toEqual({ fingerprint: 'f', answer: null })
    const answer = { status: 201, headers: { etag: '"1"' }, body: '{}' }
    await store.idempotency.finish('tok_a', 'k', answer)
    expect(await store.idempotency.begin({ ...request, fingerprint: 'g' })).toEqual({ fingerprint: 'f', answer })
    expect(await store.idempotency.begin({ ...request, token: 'tok_b' })).toBeNull()
  })

  test('answers are bounded by their bytes: the oldest of the account that has most go first', async () => {
    const answerAll = async (token: string, keys: number[]): Promise<void> => {
      for (const now of keys) {
        await store.idempotency.begin({ ...request, token, key: `k${now}`, now, account: `token ${token}` })
        await store.idempotency.finish(token, `k${now}`, { status: 201, headers: {}, body: 'x'.repeat(10_000) })
      }
    }
    await answerAll('quiet', [1, 2])
    await answerAll('loud', [1, 2, 3, 4, 5, 6, 7, 8, 9])
    await store.idempotency.begin({ ...request, token: 'loud', key: 'running', now: 0, account: 'token loud' })
    await store.idempotency.bound(60_000)
    const isKept = async (token: string, now: number): Promise<boolean> =>
      (await store.idempotency.begin({ ...request, token, key: `k${now}`, account: `token ${token}` })) !== null
    expect(await Promise.all([1, 2].map((now) => isKept('quiet', now)))).toEqual([true, true])
    expect(await Promise.all([6, 7, 8, 9].map((now) => isKept('loud', now)))).toEqual([false, true, true, true])
    expect(await store.idempotency.begin({ ...request, token: 'loud', key: 'running' })).not.toBeNull()
  })

  test('an unfinished key is free again after a restart', async () => {
    await store.idempotency.begin(request)
    await store.idempotency.prune(0, { unfinished: true })
    expect(await store.idempotency.begin(request)).toBeNull()
  })
})

test('notes are listed by key prefix, overwritten, and removed', async () => {
  for (const [key, value] of [
    ['a:1', 'x'],
    ['a:2', 'y'],
    ['A:3', 'z'],
    ['a:1', 'w'],
  ] as const)
    await store.meta.set(key, value)
  expect(await store.meta.list('a:')).toEqual([
    { key: 'a:1', value: 'w' },
    { key: 'a:2', value: 'y' },
  ])
  await store.meta.remove('a:1')
  expect(await store.meta.get('a:1')).toBeNull()
  expect(await store.meta.list('a:')).toEqual([{ key: 'a:2', value: 'y' }])
})

describe('the database file', () => {
  test('data is there after the file is opened again', async () => {
    await store.boxes.insert(box('web'))
    await store.close()
    store = openSqliteStore(path)
    expect(await store.boxes.get('demo', 'web')).not.toBeNull()
  })

  test('a newer schema is refused, and the file left as it is', async () => {
    await store.close()
    const newer = new DatabaseSync(path)
    newer.exec('PRAGMA user_version = 999')
    newer.close()
    expect(() => openSqliteStore(path)).toThrow(/schema version 999/)
    const again = new DatabaseSync(path)
    again.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
    again.close()
    store = openSqliteStore(path)
  })
})
