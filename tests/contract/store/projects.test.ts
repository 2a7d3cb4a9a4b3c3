import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { openDatabase } from '../../../agent/drivers/store/database.ts'
import { MIGRATIONS } from '../../../agent/drivers/store/schema.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import type { ProjectQuery, ProjectUse } from '../../../agent/ports/store/volumes.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord, SMALL_CONFIG } from '../../helpers/boxes/box-records.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'
import { volumeRecord } from '../../helpers/volumes/storage-records.ts'

let directory: string
let store: Store

useTemporaryStore((opened, home) => {
  store = opened
  directory = home
})

const ALL: ProjectQuery = { projects: '*', prefix: '', after: null, limit: 100 }
const QUOTA = { boxes: 3, cpus: null, ramMb: null, storageGb: null, version: 1, updatedAt: 5 }

async function storeBox(project: string, name: string, changes: Partial<BoxRecord> = {}): Promise<void> {
  const record = boxRecord({ id: newId('box', Date.now()), project, name, config: SMALL_CONFIG, ...changes })
  expect(await store.boxes.insert(record)).toBe('stored')
}

async function storeBase(project: string | null, changes: { cell?: string } = {}): Promise<void> {
  const id = newId('bas', Date.now())
  const rest = { sizeBytes: null, createdAt: 1, source: 'host', createdBy: null, ...changes }
  expect(await store.bases.insert({ id, project, name: 'made', subvolume: `sub_${id}`, ...rest })).not.toBeNull()
}

async function storeBackup(project: string, status: 'done' | 'failed'): Promise<void> {
  const volume = volumeRecord('data', { project })
  await store.volumes.insert(volume)
  const id = newId('bak', Date.now())
  const record = { id, volumeId: volume.id, project, status, subvolume: null }
  expect(await store.backups.insert(record as Parameters<Store['backups']['insert']>[0])).toBe(true)
  const tombstone = { id: volume.id, root: volume.subvolume, createdAt: 1 }
  expect(await store.volumes.remove(volume.id, volume.version, tombstone)).toHaveLength(1)
}

async function list(query: Partial<ProjectQuery> = {}): Promise<ProjectUse[]> {
  return (await store.quotas.list({ ...ALL, ...query })).records
}

const names = async (query: Partial<ProjectQuery> = {}): Promise<string[]> =>
  (await list(query)).map(({ project }) => project)

function statusOf(status: BoxRecord['observed']['status']): Pick<BoxRecord, 'observed'> {
  return { observed: { ...boxRecord().observed, status } }
}

test('a project is listed while it has a box, a volume, a base of its own, a backup or a quota', async () => {
  expect(await names()).toEqual([])
  await storeBase(null)
  await storeBase('copies', { cell: 'two' })
  await storeBackup('failures', 'failed')
  expect(await names()).toEqual([])
  await storeBase('bases')
  await storeBackup('backups', 'done')
  await store.quotas.set('quotas', QUOTA)
  await store.volumes.insert(volumeRecord('data', { project: 'volumes' }))
  await storeBox('boxes', 'web')
  const all = ['backups', 'bases', 'boxes', 'quotas', 'volumes']
  expect(await names()).toEqual(all)
  expect(await names({ projects: [...all, 'copies', 'failures', 'none'].reverse() })).toEqual(all)
  // A removed quota limits nothing.
  await store.quotas.set('quotas', { ...QUOTA, boxes: null, version: 2 })
  await store.quotas.set('boxes', { ...QUOTA, boxes: null })
  const left = all.filter((name) => name !== 'quotas')
  expect([await names(), await names({ projects: all })]).toEqual([left, left])
  await store.quotas.set('quotas', { ...QUOTA, boxes: null, storageGb: 0, version: 3 })
  expect(await names()).toEqual(all)
})

test('its use is that of the quota, and boxes are counted by status', async () => {
  await storeBox('demo', 'a', statusOf('running'))
  await storeBox('demo', 'b', statusOf('running'))
  await storeBox('demo', 'c', { ...statusOf('stopped'), desired: { power: 'stopped', generation: 1 } })
  await storeBox('demo', 'd', statusOf('pending'))
  await storeBox('demo', 'e', statusOf('unknown'))
  await store.volumes.insert(volumeRecord('data', { project: 'demo', sizeGb: 2.5 }))
  await store.quotas.set('demo', QUOTA)
  await store.quotas.set('empty', { ...QUOTA, boxes: null, cpus: 0 })
  const [demo, empty] = await list()
  const used = { boxes: 5, volumes: 1, cpus: 4, ramMb: 256, storageGb: 7.5 }
  expect(demo).toEqual({ project: 'demo', quota: QUOTA, used, boxes: { running: 2, stopped: 1, other: 2 } })
  expect(demo?.used).toEqual(await store.quotas.usage('demo'))
  expect(empty).toMatchObject({ used: await store.quotas.usage('empty'), boxes: { running: 0, stopped: 0, other: 0 } })
})

test('pages follow each other, also where a name begins as another, and know the projects of the token alone', async () => {
  const all = ['a', 'a-b', 'a0', 'ab', 'b', 'b-1']
  for (const project of all) await storeBox(project, 'web')
  await store.quotas.set('a-b', QUOTA)
  for (const projects of ['*', all] as const) {
    const found: string[] = []
    for (let after: string | null = null; ; ) {
      const { records, hasMore } = await store.quotas.list({ ...ALL, projects, after, limit: 2 })
      found.push(...records.map(({ project }) => project))
      if (!hasMore) break
      after = records.at(-1)?.project ?? null
    }
    expect(found).toEqual(all)
    expect(await names({ projects, prefix: 'a' })).toEqual(['a', 'a-b', 'a0', 'ab'])
    expect(await names({ projects, prefix: 'a', after: 'a-b' })).toEqual(['a0', 'ab'])
    expect(await names({ projects, prefix: 'b', after: 'a' })).toEqual(['b', 'b-1'])
    expect(await names({ projects, prefix: 'c' })).toEqual([])
  }
  expect(await names({ projects: ['b', 'a0', 'b'] })).toEqual(['a0', 'b'])
})

test('the use follows changes and deletions of records', async () => {
  const box = boxRecord({ id: newId('box', 1), config: SMALL_CONFIG })
  await store.boxes.insert(box)
  const volume = volumeRecord('data', { sizeGb: 1 })
  await store.volumes.insert(volume)
  const use = async (): Promise<number[]> => {
    const { boxes, volumes, cpus, ramMb, storageGb } = await store.quotas.usage(null)
    return [boxes, volumes, cpus, ramMb, storageGb]
  }
  expect(await use()).toEqual([1, 1, 1, 64, 2])
  const larger = { ...box, version: 2, config: { ...SMALL_CONFIG, cpus: 0.5, ram_mb: 128, storage_gb: 2 } }
  await store.boxes.replace(larger)
  await store.volumes.replace({ ...volume, version: 2, sizeGb: 1.25 })
  expect(await use()).toEqual([1, 1, 0.5, 128, 3.25])
  await store.boxes.replace({ ...larger, version: 3, desired: { power: 'stopped', generation: 2 } })
  expect(await use()).toEqual([1, 1, 0, 0, 3.25])
  await store.boxes.remove(box.id, 3, { id: box.id, root: box.root, createdAt: 1 })
  await store.volumes.remove(volume.id, 2, { id: volume.id, root: volume.subvolume, createdAt: 1 })
  expect(await use()).toEqual([0, 0, 0, 0, 0])
})

test('records of a version before its tables are counted', async () => {
  const path = join(directory, 'older.db')
  const older = openDatabase(path, { ballast: null, migrations: MIGRATIONS.slice(0, 11) })
  const insert = (table: string, record: { id: string; name: string }, columns = '', ...values: string[]): void => {
    const sql = `INSERT INTO ${table} (id, project, name, version, record ${columns}) VALUES (?, 'demo', ?, 1, ?${', ?'.repeat(values.length)})`
    older.run(sql, record.id, record.name, JSON.stringify(record), ...values)
  }
  insert('boxes', boxRecord({ id: newId('box', 1), config: SMALL_CONFIG }), ', status', 'running')
  insert('volumes', volumeRecord('data', { sizeGb: 4 }))
  older.close()
  const newer = openSqliteStore(path)
  const used = { boxes: 1, volumes: 1, cpus: 1, ramMb: 64, storageGb: 5 }
  const boxes = { running: 1, stopped: 0, other: 0 }
  expect((await newer.quotas.list(ALL)).records).toEqual([{ project: 'demo', quota: null, used, boxes }])
  await newer.close()
})
