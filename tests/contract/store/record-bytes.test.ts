import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { recordGrowth } from '../../../agent/core/common/record-bytes.ts'
import { openDatabase } from '../../../agent/drivers/store/database.ts'
import { MIGRATIONS } from '../../../agent/drivers/store/schema.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { InstanceRecord, ServiceRecord } from '../../../agent/ports/store/services.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { candidate, deployed, runningService, serviceRecord } from '../../helpers/services/records.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'

let store: Store
let directory: string

useTemporaryStore((opened, home) => {
  store = opened
  directory = home
})

function box(name: string, changes: Partial<BoxRecord> = {}): BoxRecord {
  return boxRecord({ id: newId('box', 1), name, ...changes })
}

const sum = (...records: (BoxRecord | ServiceRecord)[]): number =>
  records.reduce((all, record) => all + recordGrowth(null, record), 0)

/** A fork that runs a preview. */
const FORK = { boxId: 'box_fork', root: 'sub_fork', mounts: [] }

describe('the bytes of records', () => {
  test('follow every write exactly, by project', async () => {
    const [web, other] = [box('web', { environment: { A: 'ü'.repeat(500) } }), box('other', { project: 'another' })]
    const service = serviceRecord({ env: { B: '\u0001"'.repeat(400) } }, { boxId: web.id })
    const usage = async () => [(await store.quotas.recordBytes('demo')).own, await store.quotas.recordBytes('another')]
    const expectUsage = async (demo: number, another: number): Promise<void> =>
      expect(await usage()).toEqual([demo, { own: another, all: demo + another }])
    await expectUsage(0, 0)
    for (const record of [web, other]) await store.boxes.insert(record)
    expect(await store.boxes.insert(box('web', { environment: { A: 'taken' } }))).toBe('name_taken')
    await store.services.insert(service, 64)
    await expectUsage(sum(web, service), sum(other))
    const shorter = { ...web, version: 2, environment: {} }
    await store.boxes.replace(shorter)
    const longer = { ...service, version: 2, preview: candidate() }
    await store.services.replace(longer)
    expect(await store.services.replace({ ...service, version: 2, tags: { a: 'stale' } })).toBe(false)
    await expectUsage(sum(shorter, longer), sum(other))
    await store.boxes.remove(other.id, 1, { id: other.id, root: other.root, createdAt: 1 })
    await store.services.remove(web.id, 'web', 2)
    await expectUsage(sum(shorter), 0)
    await store.services.insert(service, 64)
    await store.boxes.remove(web.id, 2, { id: web.id, root: web.root, createdAt: 1 })
    await expectUsage(0, 0)
  })

  test('of a service that is not started count its definition as its start will copy it', async () => {
    const web = box('web')
    await store.boxes.insert(web)
    const env = { A: 'x'.repeat(10_000) }
    const defined = serviceRecord({ port: 8080, env }, { boxId: web.id })
    await store.services.insert(defined, 64)
    const before = (await store.quotas.recordBytes('demo')).own
    expect(before).toBeGreaterThan(20_000)
    const { active } = runningService()
    const started = { ...defined, version: 2, active: active && { ...active, spec: defined.spec } }
    await store.services.replace(started)
    const after = (await store.quotas.recordBytes('demo')).own
    expect(after).toBe(sum(web, started))
    expect(after - before).toBeLessThan(1_000)
  })

  test('of an earlier version are counted at its first start', async () => {
    const path = join(directory, 'earlier.db')
    const earlier = openDatabase(path, { ballast: null, migrations: MIGRATIONS.slice(0, 7) })
    const [web, other] = [box('web'), box('other', { project: 'another' })]
    const service = serviceRecord({}, { boxId: web.id, preview: { ...candidate(), fork: FORK } })
    for (const record of [web, other]) {
      const sql = 'INSERT INTO boxes (id, project, name, version, status, record) VALUES (?, ?, ?, 1, ?, ?)'
      earlier.run(sql, record.id, record.project, record.name, 'stopped', JSON.stringify(record))
    }
    const insert = "INSERT INTO services (box_id, name, version, record) VALUES (?, 'web', 1, ?)"
    earlier.run(insert, web.id, JSON.stringify(service))
    earlier.close()
    const migrated = openSqliteStore(path)
    const usage = await migrated.quotas.recordBytes('demo')
    const forks = await collect(migrated.services.eachWithFork())
    const [outline] = await migrated.services.of(web.id)
    await migrated.close()
    expect(usage).toEqual({ own: sum(web, service), all: sum(web, service, other) })
    expect(forks).toEqual([service])
    expect(outline).toMatchObject({
      name: 'web',
      spec: { port: null, needs: [] },
      preview: { fork: { boxId: FORK.boxId } },
    })
    expect(JSON.stringify(outline)).not.toContain('command')
  })
})

test('an outline without the ids of runs is made anew', async () => {
  const path = join(directory, 'outlines.db')
  const earlier = openDatabase(path, { ballast: null, migrations: MIGRATIONS.slice(0, 9) })
  const service = runningService()
  const insert = "INSERT INTO services (box_id, name, version, record, outline) VALUES (?, 'web', 1, ?, '{}')"
  earlier.run(insert, service.boxId, JSON.stringify(service))
  earlier.close()
  const migrated = openSqliteStore(path)
  const outline = await migrated.services.outline(service.boxId, 'web')
  await migrated.close()
  expect(outline?.active?.runs.at(-1)?.execId).toBe(service.active?.runs.at(-1)?.execId)
})

describe('of the services of a box', () => {
  test('others read an outline, which has none of the long parts', async () => {
    const web = box('web')
    await store.boxes.insert(web)
    const long = 'x'.repeat(100_000)
    const record = deployed(runningService())
    const service = { ...record, boxId: web.id, spec: { ...record.spec, needs: ['db'], env: { A: long } }, version: 1 }
    await store.services.insert(service, 64)
    const { active, preview } = service
    const lastRunOf = (instance: InstanceRecord | null) =>
      instance?.runs.slice(-1).map(({ execId, end }) => ({ execId, end }))
    const outline = {
      ...{ boxId: web.id, name: 'web', domains: [], spec: { port: 8080, needs: ['db'] } },
      active: { spec: { port: 8080 }, fork: null, port: 8080, runs: lastRunOf(active) },
      preview: {
        spec: { port: 8080 },
        fork: null,
        port: 49_152,
        runs: lastRunOf(preview),
        failure: null,
      },
      ...{ previous: null, next: null, retired: [] },
    }
    expect(await store.services.of(web.id)).toEqual([outline])
    expect(await store.services.outline(web.id, 'web')).toEqual(outline)
    expect(await store.services.outline(web.id, 'db')).toBeNull()
    await store.services.replace({ ...service, version: 2, domains: ['a.example'] })
    expect(await store.services.of(web.id)).toEqual([{ ...outline, domains: ['a.example'] }])
  })

  test('names come in pages, which end where their records would be too long together', async () => {
    const web = box('web')
    await store.boxes.insert(web)
    for (const name of ['a', 'b', 'ba', 'c']) {
      const record = serviceRecord({ env: { A: 'x'.repeat(200_000) } }, { boxId: web.id, name })
      await store.services.insert(record, 64)
    }
    const names = (query: object) => store.services.names(web.id, { prefix: '', after: '', limit: 100, ...query })
    expect(await names({})).toEqual({ names: ['a', 'b'], hasMore: true })
    expect(await names({ after: 'b' })).toEqual({ names: ['ba', 'c'], hasMore: false })
    expect(await names({ prefix: 'b', limit: 1 })).toEqual({ names: ['b'], hasMore: true })
    expect(await names({ prefix: 'b', after: 'b' })).toEqual({ names: ['ba'], hasMore: false })
  })
})

async function collect<T>(records: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const record of records) all.push(record)
  return all
}

describe('all records', () => {
  test('are read page by page in the order of their keys, without gaps', async () => {
    const boxes = Array.from({ length: 20 }, (_, index) => box(`b${index}`)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
    for (const record of boxes) await store.boxes.insert(record)
    expect(await collect(store.boxes.each())).toEqual(boxes)
    expect(await store.boxes.ids()).toEqual(boxes.map(({ id }) => id))
    const names = ['a', 'b', 'c']
    const services = boxes.flatMap(({ id: boxId }) => names.map((name) => serviceRecord({}, { boxId, name })))
    for (const record of services) await store.services.insert(record, 64)
    expect(await collect(store.services.each())).toEqual(services)
    expect(await store.services.keys()).toEqual(services.map(({ boxId, name }) => ({ boxId, name })))
  })

  test('of services with a fork are found by that alone, whatever others say', async () => {
    const web = box('web')
    await store.boxes.insert(web)
    const env = { fork: '{', A: '"fork":{', B: '\\"fork\\":{' }
    const plain = serviceRecord({ command: ['"fork":{'], env }, { boxId: web.id, name: 'plain' })
    const forked = serviceRecord({}, { boxId: web.id, name: 'forked', preview: { ...candidate(), fork: FORK } })
    for (const record of [plain, forked]) await store.services.insert(record, 64)
    expect(await collect(store.services.eachWithFork())).toEqual([forked])
    await store.services.replace({ ...forked, version: 2, preview: null })
    expect(await collect(store.services.eachWithFork())).toEqual([])
  })
})
