import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from '@jest/globals'
import { MIGRATIONS } from '../../../agent/drivers/store/schema.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { BoxRecord, MountRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import type { NamedQuery, VolumeRecord } from '../../../agent/ports/store/volumes.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord, SMALL_CONFIG } from '../../helpers/boxes/box-records.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'
import { mountOf, volumeRecord } from '../../helpers/volumes/storage-records.ts'

let directory: string
let store: Store

useTemporaryStore((opened, home) => {
  store = opened
  directory = home
})

const ALL: NamedQuery = { projects: '*', prefix: '', tags: [], after: null, limit: 100 }

async function storedBox(name: string, overrides: Partial<BoxRecord> = {}): Promise<BoxRecord> {
  const record = boxRecord({ id: newId('box', Date.now()), name, ...overrides })
  expect(await store.boxes.insert(record)).toBe('stored')
  return record
}

async function storedVolume(name: string, overrides: Partial<VolumeRecord> = {}): Promise<VolumeRecord> {
  const record = volumeRecord(name, overrides)
  expect(await store.volumes.insert(record)).toBe(true)
  return record
}

const withMounts = (record: BoxRecord, mounts: MountRecord[]): BoxRecord => ({
  ...record,
  version: record.version + 1,
  updatedAt: 9,
  mounts,
})
const versionOf = async (name: string): Promise<number | undefined> => (await store.volumes.get('demo', name))?.version

describe('volumes', () => {
  test('a name is taken once in a project, and the tombstone of its creation goes with the record', async () => {
    const record = volumeRecord('data')
    await store.tombstones.insert({ id: record.id, root: record.id, createdAt: 1 })
    expect(await store.volumes.insert(record)).toBe(true)
    expect(await store.tombstones.all()).toEqual([])
    const second = volumeRecord('data')
    await store.tombstones.insert({ id: second.id, root: second.id, createdAt: 1 })
    expect(await store.volumes.insert(second)).toBe(false)
    expect(await store.tombstones.all()).toHaveLength(1)
    expect(await store.volumes.get('demo', 'data')).toEqual(record)
  })

  test('a write to a version that is no longer current changes nothing', async () => {
    const record = await storedVolume('data')
    expect(await store.volumes.replace({ ...record, version: 2, sizeGb: 3 })).toBe(true)
    expect(await store.volumes.replace({ ...record, version: 2, sizeGb: 4 })).toBe(false)
    expect((await store.volumes.get('demo', 'data'))?.sizeGb).toBe(3)
  })

  test('lists are ordered, paged and filtered as those of boxes', async () => {
    for (const name of ['b', 'a', 'ab']) await storedVolume(name, { tags: { name } })
    await storedVolume('a', { project: 'another' })
    const names = async (query: Partial<NamedQuery>): Promise<string[]> =>
      (await store.volumes.list({ ...ALL, ...query })).records.map((record) => `${record.project}/${record.name}`)
    expect(await names({})).toEqual(['another/a', 'demo/a', 'demo/ab', 'demo/b'])
    expect(await names({ projects: ['demo'], prefix: 'a' })).toEqual(['demo/a', 'demo/ab'])
    expect(await names({ tags: [['name', 'b']] })).toEqual(['demo/b'])
    expect((await store.volumes.list({ ...ALL, limit: 2 })).hasMore).toBe(true)
    expect(await names({ after: { project: 'demo', name: 'a' } })).toEqual(['demo/ab', 'demo/b'])
  })
})

describe('attachments', () => {
  test('one box writes, others read, and each change raises the version of the volume', async () => {
    const data = await storedVolume('data')
    const [one, two, three] = [await storedBox('one'), await storedBox('two'), await storedBox('three')]
    expect(await store.boxes.replaceMounts(withMounts(one, [mountOf(data)]))).toBe('stored')
    expect(await store.boxes.replaceMounts(withMounts(two, [mountOf(data)]))).toBe('volume_in_use')
    expect((await store.boxes.byId(two.id))?.version).toBe(1)
    expect(await store.boxes.replaceMounts(withMounts(three, [mountOf(data, { readOnly: true })]))).toBe('stored')
    expect(await versionOf('data')).toBe(3)
    expect((await store.volumes.attachments([data.id])).map(({ box, readOnly }) => [box, readOnly])).toEqual([
      ['one', false],
      ['three', true],
    ])
    expect((await store.boxes.byId(one.id))?.mounts).toEqual([mountOf(data)])
  })

  test('another version, or a volume that is gone, changes nothing', async () => {
    const data = await storedVolume('data')
    const box = await storedBox('one')
    expect(await store.boxes.replaceMounts({ ...withMounts(box, [mountOf(data)]), version: 7 })).toBe('changed')
    expect(await store.boxes.replaceMounts(withMounts(box, [mountOf(volumeRecord('gone'))]))).toBe('volume_gone')
    expect((await store.boxes.byId(box.id))?.mounts).toEqual([])
    expect(await versionOf('data')).toBe(1)
  })

  test('the answer of a request is stored in the commit of its change, or not at all', async () => {
    const data = await storedVolume('data')
    const [writer, other] = [await storedBox('writer', { mounts: [mountOf(data)] }), await storedBox('other')]
    const asked = { token: 'tok_a', key: 'detach', fingerprint: 'f', now: 1, account: 'a' }
    const answer = { status: 200, headers: { etag: '"2"' }, body: '{"id":"it"}' }
    const keyed = { token: 'tok_a', key: 'detach', answer }
    const told = async () => (await store.idempotency.begin(asked))?.answer
    expect(await told()).toBeUndefined()
    expect(await store.boxes.replaceMounts({ ...withMounts(writer, []), version: 7 }, keyed)).toBe('changed')
    expect(await store.boxes.replaceMounts(withMounts(other, [mountOf(data)]), keyed)).toBe('volume_in_use')
    expect(await told()).toBeNull()
    expect(await store.boxes.replaceMounts(withMounts(writer, []), keyed)).toBe('stored')
    // A starting process does this to unfinished requests of its predecessor.
    await store.idempotency.prune(0, { unfinished: true })
    expect(await told()).toEqual(answer)
  })

  test('a box is inserted with its mounts or not at all', async () => {
    const data = await storedVolume('data')
    await storedBox('one', { mounts: [mountOf(data)] })
    const second = boxRecord({ id: newId('box', Date.now()), name: 'two', mounts: [mountOf(data)] })
    expect(await store.boxes.insert(second)).toBe('volume_in_use')
    expect(await store.boxes.byId(second.id)).toBeNull()
    const third = { ...second, mounts: [mountOf(volumeRecord('gone'))] }
    expect(await store.boxes.insert(third)).toBe('volume_gone')
    expect(await store.boxes.byId(third.id)).toBeNull()
  })

  test('an attached volume is not removed until its box is', async () => {
    const data = await storedVolume('data')
    const box = await storedBox('one', { mounts: [mountOf(data)] })
    const tombstone = { id: data.id, root: data.subvolume, createdAt: 3 }
    const { version = 0 } = (await store.volumes.get('demo', 'data')) ?? {}
    expect(await store.volumes.remove(data.id, version, tombstone)).toBe('attached')
    await store.boxes.remove(box.id, 1, { id: box.id, root: box.root, createdAt: 4 })
    expect(await store.volumes.attachments([data.id])).toEqual([])
    expect(await store.volumes.remove(data.id, version, tombstone)).toBe('changed')
    expect(await store.volumes.remove(data.id, version + 1, tombstone)).toEqual([tombstone])
    expect((await store.tombstones.all()).map(({ id }) => id).sort()).toEqual([box.id, data.id].sort())
  })
})

describe('quotas', () => {
  test('are unlimited until they are set, and kept by project', async () => {
    expect(await store.quotas.get('demo')).toBeNull()
    const record = { version: 1, boxes: 2, cpus: null, ramMb: 512, storageGb: 1.5, updatedAt: 1 }
    await store.quotas.set('demo', { ...record, boxes: 9 })
    await store.quotas.set('demo', record)
    expect(await store.quotas.get('demo')).toEqual(record)
    expect(await store.quotas.get('other')).toBeNull()
  })

  test('usage counts boxes and storage of all, cpus and memory of those that should run', async () => {
    const config = { ...SMALL_CONFIG, cpus: 0.5, ram_mb: 100, storage_gb: 1.25 }
    await storedBox('runs', { config })
    await storedBox('stopped', { config, desired: { power: 'stopped', generation: 2 } })
    await storedBox('elsewhere', { config, project: 'other' })
    await storedVolume('data', { sizeGb: 4 })
    expect(await store.quotas.usage('demo')).toEqual({ boxes: 2, volumes: 1, cpus: 0.5, ramMb: 100, storageGb: 6.5 })
    expect(await store.quotas.usage(null)).toEqual({ boxes: 3, volumes: 1, cpus: 1, ramMb: 200, storageGb: 7.75 })
    expect(await store.quotas.usage('empty')).toEqual({ boxes: 0, volumes: 0, cpus: 0, ramMb: 0, storageGb: 0 })
  })
})

test('a database of the first schema is migrated, with its boxes and nothing else', async () => {
  const path = join(directory, 'old.db')
  const old = new DatabaseSync(path)
  old.exec(`${MIGRATIONS[0]}; PRAGMA user_version = 1`)
  const { mounts: _mounts, ...record } = boxRecord({ name: 'old' })
  old
    .prepare('INSERT INTO boxes (id, project, name, version, status, record) VALUES (?, ?, ?, ?, ?, ?)')
    .run(record.id, record.project, record.name, 1, 'running', JSON.stringify(record))
  old.close()
  const migrated = openSqliteStore(path)
  expect(await migrated.boxes.get('demo', 'old')).toEqual({ ...record, mounts: [] })
  expect((await migrated.quotas.usage('demo')).boxes).toBe(1)
  await migrated.close()
})
