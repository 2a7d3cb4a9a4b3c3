import { expect, test } from '@jest/globals'
import type { BaseQuery, NewBase } from '../../../agent/ports/store/bases.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'

let store: Store

useTemporaryStore((opened) => {
  store = opened
})

function base(name: string, project: string | null = 'demo'): NewBase {
  const id = newId('bas', Date.now())
  const createdBy = { token: 'tok_a', idempotencyKey: null }
  return { id, project, name, sizeBytes: null, subvolume: id, createdAt: 1, source: 'tar', createdBy }
}
const tombstoneOf = ({ id, subvolume }: NewBase) => ({ id, root: subvolume, createdAt: 5 })

test('a name is taken once in a project, and the tombstone of its creation goes with the record', async () => {
  const first = base('a')
  const second = base('a')
  for (const each of [first, second]) await store.tombstones.insert(tombstoneOf(each))
  expect(await store.bases.insert(first)).toEqual({ ...first, version: 1 })
  expect(await store.bases.insert(second)).toBeNull()
  expect(await store.tombstones.all()).toEqual([tombstoneOf(second)])
  expect(await store.bases.get('demo', 'a')).toEqual({ ...first, version: 1 })
  expect(await store.bases.get(null, 'a')).toBeNull()
  expect((await store.bases.insert(base('a', null)))?.version).toBe(1)
  expect((await store.bases.insert(base('a', 'other')))?.version).toBe(1)
})

test('a version is never reused, also after refusals and removals', async () => {
  const first = base('a')
  await store.bases.insert(first)
  await store.bases.insert(base('a'))
  expect(await store.bases.remove(first.id, tombstoneOf(first))).toBe(true)
  expect(await store.tombstones.all()).toEqual([tombstoneOf(first)])
  expect(await store.bases.remove(first.id, tombstoneOf(first))).toBe(false)
  expect((await store.bases.insert(base('a')))?.version).toBe(2)
  expect((await store.bases.insert(base('b')))?.version).toBe(1)
})

test('lists have the requested projects or the shared bases, by name', async () => {
  for (const name of ['b', 'a', 'ab']) await store.bases.insert(base(name))
  await store.bases.insert(base('a', 'another'))
  await store.bases.insert(base('shared', null))
  const all: BaseQuery = { projects: '*', prefix: '', after: null, limit: 100 }
  const names = async (query: Partial<BaseQuery>): Promise<string[]> =>
    (await store.bases.list({ ...all, ...query })).records.map(({ project, name }) => `${project}/${name}`)
  expect(await names({})).toEqual(['another/a', 'demo/a', 'demo/ab', 'demo/b'])
  expect(await names({ projects: ['demo'], prefix: 'a' })).toEqual(['demo/a', 'demo/ab'])
  expect(await names({ projects: null })).toEqual(['null/shared'])
  expect(await names({ projects: [] })).toEqual([])
  expect((await store.bases.list({ ...all, limit: 2 })).hasMore).toBe(true)
  expect(await names({ after: { project: 'demo', name: 'a' } })).toEqual(['demo/ab', 'demo/b'])
  expect([await store.bases.count('demo'), await store.bases.count(null)]).toEqual([3, 1])
})

test('lists the boxes made from a base, in the requested projects', async () => {
  const made = base('a', null)
  await store.bases.insert(made)
  for (const [project, name] of [
    ['demo', 'b'],
    ['demo', 'a'],
    ['other', 'c'],
  ] as const)
    await store.boxes.insert(boxRecord({ id: newId('box', 1), project, name, baseId: made.id }))
  await store.boxes.insert(boxRecord({ id: newId('box', 1), name: 'unrelated', baseId: newId('bas', 1) }))
  await store.boxes.insert(boxRecord({ id: newId('box', 1), name: 'unknown' }))
  expect(await store.bases.usedBy(made.id, { projects: '*', limit: 2 })).toEqual({
    boxes: [
      { project: 'demo', name: 'a' },
      { project: 'demo', name: 'b' },
    ],
    count: 3,
  })
  expect((await store.bases.usedBy(made.id, { projects: ['other'], limit: 2 })).count).toBe(1)
  expect(await store.bases.usedBy(made.id, { projects: [], limit: 2 })).toEqual({ boxes: [], count: 0 })
})

test('stores the size of a base', async () => {
  const made = base('a')
  await store.bases.insert(made)
  await store.bases.measure(made.id, 12_345)
  expect((await store.bases.get('demo', 'a'))?.sizeBytes).toBe(12_345)
})
