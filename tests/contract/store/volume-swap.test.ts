import { expect, test } from '@jest/globals'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'
import { mountOf, snapshotRecord, volumeRecord } from '../../helpers/volumes/storage-records.ts'

let store: Store

useTemporaryStore((opened) => {
  store = opened
})

const swapOf = (volumeId: string, subvolume: string, replaces: string) => ({
  box: null,
  volumes: [{ volumeId, subvolume, replaces }],
  kept: [],
  given: [],
  now: 9,
})

test('the second of two restores that replace the same data is refused, and changes nothing', async () => {
  const volume = volumeRecord('data')
  await store.volumes.insert(volume)
  const kept = [snapshotRecord(volume, { subvolume: volume.subvolume, automatic: true })]
  expect(await store.boxes.swap({ ...swapOf(volume.id, 'vol_one', volume.subvolume), kept })).toBe('stored')
  expect(await store.boxes.swap({ ...swapOf(volume.id, 'vol_two', volume.subvolume), kept })).toBe('changed')
  expect(await store.volumes.get('demo', 'data')).toMatchObject({ subvolume: 'vol_one', version: 2 })
  expect(await store.snapshots.of(volume.id)).toHaveLength(1)
  expect(await store.boxes.swap(swapOf('vol_gone', 'vol_two', 'vol_one'))).toBe('volume_gone')
})

test('a volume is not restored while a box restore includes it', async () => {
  const volume = volumeRecord('data')
  await store.volumes.insert(volume)
  const wish = { snapshot: 'v0', root: 'sub_new', data: [{ volumeId: volume.id, subvolume: 'vol_wished' }] }
  const box = boxRecord({ id: newId('box', Date.now()), restore: wish })
  await store.boxes.insert(box)
  expect(await store.boxes.swap(swapOf(volume.id, 'vol_new', volume.subvolume))).toBe('volume_in_use')
  expect(await store.volumes.get('demo', 'data')).toEqual(volume)
  const done = { ...box, version: 2, root: 'sub_new', restore: null }
  expect(await store.boxes.swap({ ...swapOf(volume.id, 'vol_wished', volume.subvolume), box: done })).toBe('stored')
})

test('the second of two box restores that share a volume is refused', async () => {
  const volume = volumeRecord('data')
  await store.volumes.insert(volume)
  const [first, second, third] = ['first', 'second', 'third'].map((name) => {
    const restore = { snapshot: 'v0', root: `sub_${name}`, data: [{ volumeId: volume.id, subvolume: `vol_${name}` }] }
    return boxRecord({ id: newId('box', Date.now()), name, version: 2, restore })
  }) as [BoxRecord, BoxRecord, BoxRecord]
  for (const box of [first, second, third]) await store.boxes.insert({ ...box, version: 1, restore: null })
  expect(await store.boxes.beginRestore(first)).toBe('stored')
  expect(await store.boxes.beginRestore(second)).toBe('volume_in_use')
  expect(await store.boxes.byId(second.id)).toMatchObject({ version: 1, restore: null })
  expect(await store.boxes.replace({ ...first, version: 3, restore: null })).toBe(true)
  const mounts = [mountOf(volume, { readOnly: true })]
  expect(await store.boxes.replaceMounts({ ...third, mounts, restore: null })).toBe('stored')
  expect(await store.boxes.beginRestore(second)).toBe('volume_in_use')
  expect(await store.boxes.beginRestore({ ...third, version: 3 })).toBe('stored')
})

test("a box gets the volume's data as of the commit, not of the earlier read", async () => {
  const volume = volumeRecord('data')
  await store.volumes.insert(volume)
  const stale = mountOf(volume, { readOnly: true })
  await store.boxes.swap(swapOf(volume.id, 'vol_new', volume.subvolume))
  const [made, given] = ['made', 'given'].map((name) => boxRecord({ id: newId('box', Date.now()), name }))
  if (!made || !given) throw new Error('no records')
  expect(await store.boxes.insert({ ...made, mounts: [stale] })).toBe('stored')
  expect(await store.boxes.insert(given)).toBe('stored')
  expect(await store.boxes.replaceMounts({ ...given, version: 2, mounts: [stale] })).toBe('stored')
  for (const { id } of [made, given])
    expect((await store.boxes.byId(id))?.mounts).toEqual([{ ...stale, subvolume: 'vol_new' }])
})
