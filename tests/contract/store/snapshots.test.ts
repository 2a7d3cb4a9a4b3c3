import { expect, test } from '@jest/globals'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { SnapshotRecord } from '../../../agent/ports/store/snapshots.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'
import { mountOf, snapshotRecord, volumeRecord } from '../../helpers/volumes/storage-records.ts'

let store: Store

useTemporaryStore((opened) => {
  store = opened
})

const graveOf = (root: string) => ({ id: root, root, createdAt: 7 })
const RESTING = {
  status: 'stopped',
  reason: 'stopped_by_request',
  message: null,
  since: 1,
  generation: 1,
  bootId: null,
} as const

async function storedBox(name: string, overrides: Partial<BoxRecord> = {}): Promise<BoxRecord> {
  const record = boxRecord({ id: newId('box', Date.now()), name, ...overrides })
  expect(await store.boxes.insert(record)).toBe('stored')
  return (await store.boxes.byId(record.id)) as BoxRecord
}

async function taken(owner: { id: string; name: string }, overrides = {}): Promise<SnapshotRecord> {
  const outcome = await store.snapshots.insert(snapshotRecord(owner, overrides))
  if (typeof outcome === 'string') throw new Error(outcome)
  return outcome
}

test('a snapshot without a name gets a number that its box never had', async () => {
  const [box, other] = [await storedBox('web'), await storedBox('db')]
  expect((await taken(box)).name).toBe('v0')
  expect((await taken(box, { name: 'v7' })).name).toBe('v7')
  expect((await taken(box, { name: 'v3' })).name).toBe('v3')
  const eighth = await taken(box)
  expect(eighth.name).toBe('v8')
  expect(await store.snapshots.remove(eighth.id, [])).toBe(true)
  expect((await taken(box, { name: 'v007' })).name).toBe('v007')
  expect((await taken(box)).name).toBe('v9')
  expect((await taken(other)).name).toBe('v0')
  expect(await store.snapshots.insert(snapshotRecord(box, { name: 'v7' }))).toBe('name_taken')
  expect(await store.snapshots.insert(snapshotRecord({ id: 'box_gone', name: 'gone' }))).toBe('owner_gone')
})

test('they are counted by owner, and found by the Idempotency-Key of their request', async () => {
  const [box, other] = [await storedBox('web'), await storedBox('db')]
  const by = (idempotencyKey: string | null) => ({ token: 'tok_a', name: 'me', idempotencyKey })
  const first = await taken(box, { createdBy: by('k1') })
  await taken(box, { createdBy: by('k2') })
  await taken(box, { createdBy: by(null) })
  await taken(other, { createdBy: by('k1') })
  expect(await store.snapshots.count(box.id)).toBe(3)
  expect(await store.snapshots.count('box_none')).toBe(0)
  expect(await store.snapshots.withKey(box.id, 'k1')).toEqual([first])
  expect(await store.snapshots.withKey(box.id, 'k3')).toEqual([])
})

test('recording one drops the tombstones of its parts, and no others', async () => {
  const box = await storedBox('web')
  for (const root of ['snp_a', 'snp_b', 'snp_other']) await store.tombstones.insert(graveOf(root))
  const data = [{ volumeId: 'vol_a', name: 'data', subvolume: 'snp_b', path: '/data', readOnly: false }]
  const record = await taken(box, { id: 'snp_a', subvolume: 'snp_a', data })
  expect((await store.tombstones.all()).map(({ id }) => id)).toEqual(['snp_other'])
  expect(await store.snapshots.get(box.id, record.name)).toEqual(record)
  await store.snapshots.measure(record.id, 4096)
  expect(await store.snapshots.of(box.id)).toEqual([{ ...record, sizeBytes: 4096 }])
  expect(await store.snapshots.remove(record.id, [graveOf('snp_a')])).toBe(true)
  expect((await store.tombstones.all()).map(({ id }) => id)).toEqual(['snp_a', 'snp_other'])
  expect(await store.snapshots.remove(record.id, [graveOf('snp_b')])).toBe(false)
  expect((await store.tombstones.all()).map(({ id }) => id)).toEqual(['snp_a', 'snp_other'])
})

test('a page is those of one owner, oldest first, by prefix', async () => {
  const [box, other] = [await storedBox('web'), await storedBox('db')]
  const ids: string[] = []
  for (const [index, name] of ['b', 'a', 'ba', 'c'].entries()) {
    const id = `snp_${index}`
    ids.push(id)
    await taken(box, { id, name })
  }
  await taken(other)
  const page = (after: string | null, prefix = '', limit = 2) =>
    store.snapshots.list({ ownerId: box.id, prefix, after, limit })
  expect((await page(null)).records.map(({ name }) => name)).toEqual(['b', 'a'])
  expect(await page(null)).toMatchObject({ hasMore: true })
  expect((await page('snp_1')).records.map(({ name }) => name)).toEqual(['ba', 'c'])
  expect(await page('snp_1')).toMatchObject({ hasMore: false })
  expect((await page(null, 'b')).records.map(({ name }) => name)).toEqual(['b', 'ba'])
})

test('a box is removed with its snapshots, and with those of restores; so is a volume', async () => {
  const restore = { snapshot: 'v0', root: 'sub_new', data: [{ volumeId: 'vol_a', subvolume: 'vol_new' }] }
  const box = await storedBox('web', { restore })
  const data = [{ volumeId: 'vol_a', name: 'data', subvolume: 'snp_part', path: '/data', readOnly: false }]
  await taken(box, { id: 'snp_a', subvolume: 'snp_a', data })
  const remains = await store.boxes.remove(box.id, 1, { id: box.id, root: box.root, createdAt: 7 })
  expect(remains?.map(({ root }) => root)).toEqual([box.root, 'sub_new', 'vol_new', 'snp_a', 'snp_part'])
  expect((await store.tombstones.all()).map(({ root }) => root).toSorted()).toEqual(
    remains?.map(({ root }) => root).toSorted(),
  )
  expect(await store.snapshots.all()).toEqual([])

  const volume = volumeRecord('data')
  await store.volumes.insert(volume)
  const { subvolume } = await taken(volume)
  const grave = { id: volume.id, root: volume.subvolume, createdAt: 7 }
  expect(await store.volumes.remove(volume.id, 1, grave)).toEqual([grave, graveOf(subvolume)])
  const again = { ...volume, version: 1 }
  await store.volumes.insert(again)
  expect((await taken(again)).name).toBe('v0')
})

test('the commit of a box with its changes is all or nothing', async () => {
  const box = await storedBox('web')
  await store.tombstones.insert(graveOf('sub_new'))
  const next = { ...box, version: 2 }
  const tombstones = [graveOf('sub_old')]
  expect(await store.boxes.replace({ ...next, version: 9 }, { tombstones })).toBe(false)
  expect((await store.tombstones.all()).map(({ id }) => id)).toEqual(['sub_new'])
  expect(await store.boxes.replace(next, { tombstones })).toBe(true)
  const restore = { snapshot: 'v0', root: 'sub_new', data: [] }
  expect(await store.boxes.beginRestore({ ...next, version: 9, restore })).toBe('changed')
  expect(await store.tombstones.all()).toHaveLength(2)
  expect(await store.boxes.beginRestore({ ...next, version: 3, restore })).toBe('stored')
  expect((await store.tombstones.all()).map(({ id }) => id)).toEqual(['sub_old'])
})

test('a restore changes box, volumes and boxes with these volumes in one commit', async () => {
  const volume = volumeRecord('data')
  await store.volumes.insert(volume)
  for (const id of ['sub_new', 'vol_new']) await store.tombstones.insert(graveOf(id))
  const box = await storedBox('web', { mounts: [mountOf(volume)] })
  const reader = await storedBox('reader', {
    mounts: [mountOf(volume, { readOnly: true })],
    desired: { power: 'stopped', generation: 1 },
    observed: RESTING,
  })
  const next = { ...box, root: 'sub_new', version: 2, mounts: [{ ...mountOf(volume), subvolume: 'vol_new' }] }
  const swap = {
    box: next,
    volumes: [{ volumeId: volume.id, subvolume: 'vol_new' }],
    kept: [
      snapshotRecord(box, { id: 'snp_1', subvolume: box.root, automatic: true }),
      snapshotRecord(volume, { id: 'snp_2', subvolume: volume.subvolume, automatic: true }),
    ],
    given: [],
    now: 9,
  }
  expect(await store.boxes.swap({ ...swap, box: { ...next, version: 9 } })).toBe('changed')
  expect(await store.boxes.swap({ ...swap, volumes: [{ volumeId: 'vol_gone', subvolume: 'x' }] })).toBe('volume_gone')
  expect(await store.boxes.swap({ ...swap, box: null })).toBe('volume_in_use')
  expect(await store.snapshots.all()).toEqual([])
  expect(await store.boxes.byId(box.id)).toEqual(box)
  expect(await store.tombstones.all()).toHaveLength(2)

  expect(await store.boxes.swap(swap)).toBe('stored')
  expect(await store.boxes.byId(box.id)).toEqual(next)
  expect(await store.volumes.get('demo', 'data')).toMatchObject({ subvolume: 'vol_new', updatedAt: 9 })
  const readerNow = await store.boxes.byId(reader.id)
  expect(readerNow).toMatchObject({ version: reader.version + 1, mounts: [{ subvolume: 'vol_new', readOnly: true }] })
  expect((await store.snapshots.all()).map(({ name, subvolume }) => [name, subvolume])).toEqual([
    ['v0', box.root],
    ['v0', volume.subvolume],
  ])
  expect(await store.tombstones.all()).toEqual([])

  const again = { ...swap, box: null, volumes: [{ volumeId: volume.id, subvolume: 'vol_2' }], kept: [] }
  expect(await store.boxes.swap({ ...again, given: [box.id] })).toBe('stored')
  expect((await store.boxes.byId(box.id))?.mounts[0]?.subvolume).toBe('vol_2')
})
