import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import { createActorContext } from '../../../agent/lib/actor-context.ts'
import type { BackupRecord } from '../../../agent/ports/store/backups.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Actor, EventRecord, EventScope } from '../../../agent/ports/store/events.ts'

import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { eventually } from '../../helpers/eventually.ts'
import { serviceRecord } from '../../helpers/services/records.ts'
import { mountOf, snapshotRecord, volumeRecord } from '../../helpers/volumes/storage-records.ts'

const EVERYTHING = { scope: { projects: '*', shared: true, admin: true }, types: [], after: 0, limit: 1000 } as const
const actorContext = createActorContext<Actor>()
let directory: string
let store: Store
let now = 5000

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-events-'))
  now = 5000
  store = openSqliteStore(join(directory, 'boxyard.db'), { outbox: { now: () => now, actorContext } })
})

afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

async function eventsOf(query: Partial<Parameters<Store['events']['read']>[0]> = {}): Promise<EventRecord[]> {
  return (await store.events.read({ ...EVERYTHING, ...query })).events.map(({ record }) => record)
}

async function typesOf(query: Parameters<typeof eventsOf>[0] = {}): Promise<string[]> {
  return (await eventsOf(query)).map(({ type }) => type)
}

async function change(record: BoxRecord, changes: Partial<BoxRecord>): Promise<BoxRecord> {
  const next = { ...record, ...changes, version: record.version + 1 }
  expect(await store.boxes.replace(next)).toBe(true)
  return next
}

function box(name: string, changes: Partial<BoxRecord> = {}): BoxRecord {
  return boxRecord({ id: newId('box', 1), name, ...changes })
}

describe('events of boxes', () => {
  test('record each change with its caller, in order and without a gap', async () => {
    const cause = { tokenId: 'tok_a', tokenName: 'ci', requestId: 'req_1' }
    const made = box('web', { environment: { PASSWORD: 'hunter2' } })
    await actorContext.run(cause, () => store.boxes.insert(made))
    now = 6000
    const observed = { ...made.observed, status: 'running', reason: 'ready' } as const
    const running = await change(made, { observed })
    const changed = await actorContext.run(cause, () =>
      change(running, { environment: { PASSWORD: 'hunter3' }, tags: { a: 'b' } }),
    )
    const stopping = await actorContext.run(cause, () =>
      change(changed, { desired: { power: 'stopped', generation: 2 } }),
    )
    await store.boxes.remove(made.id, stopping.version, { id: made.id, root: made.root, createdAt: 7 })
    const { events } = await store.events.read(EVERYTHING)
    expect(events.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5])
    const actor = { id: 'tok_a', name: 'ci' }
    const about = { project: 'demo', resource: '/v1/projects/demo/boxes/web' }
    const byCi = { ...about, actor, requestId: 'req_1' }
    const byItself = { ...about, actor: null, requestId: null }
    const { id } = made
    expect(events.map(({ record: { id: _id, ...record } }) => record)).toEqual([
      { ...byCi, at: 5000, type: 'box.created', data: { id, status: 'pending', base: 'busybox', fork_of: null } },
      { ...byItself, at: 6000, type: 'box.running', data: { id, reason: 'ready', message: null } },
      { ...byCi, at: 6000, type: 'box.updated', data: { id, fields: ['environment', 'tags'] } },
      { ...byCi, at: 6000, type: 'box.stop_requested', data: { id } },
      { ...byItself, at: 6000, type: 'box.deleted', data: { id } },
    ])
    expect(JSON.stringify(events)).not.toMatch(/hunter|PASSWORD/)
  })

  test('are written in the commit of the change or not at all', async () => {
    const record = box('web')
    await store.boxes.insert(record)
    expect(await store.boxes.insert(box('web'))).toBe('name_taken')
    expect(await store.boxes.replace({ ...record, version: 9, tags: { late: '' } })).toBe(false)
    const volume = volumeRecord('db')
    expect(await store.boxes.insert(box('other', { mounts: [mountOf(volume)] }))).toBe('volume_gone')
    expect(await typesOf()).toEqual(['box.created'])
    expect(await store.events.bounds()).toEqual({ oldest: 1, newest: 1 })
  })

  test('record volumes attached and detached, and restores', async () => {
    const volume = volumeRecord('db')
    await store.volumes.insert(volume)
    const record = box('web', { mounts: [mountOf(volume)] })
    await store.boxes.insert(record)
    const wish = { snapshot: 'v0', root: 'sub_new', data: [] }
    const desired = { power: 'running', generation: 2 } as const
    const wishing = { ...record, version: 2, restore: wish, desired }
    expect(await store.boxes.beginRestore(wishing)).toBe('stored')
    const restored = { ...wishing, version: 3, root: 'sub_new', restore: null }
    const kept = [snapshotRecord(record, { automatic: true })]
    expect(await store.boxes.swap({ box: restored, volumes: [], kept, given: [], now: 9 })).toBe('stored')
    await store.boxes.remove(record.id, 3, { id: record.id, root: 'sub_new', createdAt: 9 })
    expect(await typesOf()).toEqual([
      'data.created',
      'box.created',
      'data.attached',
      'box.restoring',
      'box.restored',
      'snapshot.created',
      'snapshot.deleted',
      'data.detached',
      'box.deleted',
    ])
    const attached = (await eventsOf({ types: ['data.attached'] }))[0]
    expect(attached).toMatchObject({
      resource: '/v1/projects/demo/data/db',
      data: { id: volume.id, box: 'web', box_id: record.id, path: '/mnt/db', read_only: false },
    })
  })
})

describe('events of services', () => {
  const spec = { command: ['serve'], env: { SECRET: 'hunter2' } }
  const changed = (what: string, at: number) => ({ at, what, by: 'ci', generation: 1 })

  test('follow the history, also where its oldest entries are gone, and the processes', async () => {
    const owner = box('web')
    await store.boxes.insert(owner)
    const service = serviceRecord(spec, { boxId: owner.id, name: 'app', history: [changed('created', 1)] })
    expect(await store.services.insert(service, 9)).toBe('stored')
    const run = { execId: 'exe_1', startedAt: 1, logOffset: 0, boxSince: 1, end: null }
    const active = {
      ...{ spec: service.spec, fork: null, port: null, asked: 1, restarts: 0, failures: 0 },
      runs: [run],
    }
    const begun = { ...service, version: 2, active }
    await store.services.replace(begun)
    const end = { exitCode: 3, signal: null, outOfMemory: false, endedAt: 4, logBytes: 0 }
    const ended = {
      ...{ ...begun, version: 3, active: { ...active, runs: [{ ...run, end }] } },
      history: [changed('stopped', 2), changed('stopped', 2)],
    }
    await store.services.replace(ended)
    await store.services.replace({ ...ended, version: 4, history: [changed('stopped', 2), changed('promoted', 3)] })
    await store.boxes.remove(owner.id, 1, { id: owner.id, root: owner.root, createdAt: 9 })
    expect(await typesOf({ types: ['service.'] })).toEqual([
      'service.created',
      'service.process_started',
      'service.stopped',
      'service.stopped',
      'service.process_ended',
      'service.promoted',
      'service.deleted',
    ])
    const ends = await eventsOf({ types: ['service.process_ended'] })
    expect(ends[0]).toMatchObject({
      resource: '/v1/projects/demo/boxes/web/services/app',
      data: { box: 'web', service: 'app', exit_code: 3, signal: null, out_of_memory: false },
    })
    expect(JSON.stringify(await eventsOf())).not.toContain('hunter2')
  })
})

describe('events of other resources', () => {
  test('record volumes, snapshots, backups, bases and quotas', async () => {
    const volume = volumeRecord('db')
    await store.volumes.insert(volume)
    await store.volumes.replace({ ...volume, version: 2, sizeGb: 9 })
    await store.volumes.replace({ ...volume, version: 3, sizeGb: 9, subvolume: 'vol_other' })
    const snapshot = await store.snapshots.insert(snapshotRecord(volume))
    if (typeof snapshot === 'string') throw new Error(snapshot)
    await store.snapshots.measure(snapshot.id, 5)
    await store.snapshots.remove(snapshot.id, [])
    const backup = {
      ...{ id: 'bak_1', project: 'demo', volumeId: volume.id, volume: 'db', status: 'running', createdAt: 1 },
      ...{ endedAt: null, error: null, subvolume: null, automatic: false, deletedAt: null },
    } as unknown as BackupRecord
    await store.backups.insert(backup)
    await store.backups.write([{ ...backup, status: 'failed', error: 'no room' }])
    await store.backups.write([{ ...backup, status: 'failed', deletedAt: 3 }])
    await store.backups.remove(backup.id)
    for (const project of ['demo', null]) {
      const base = { id: `bas_${project}`, project, name: 'b', sizeBytes: null, subvolume: 's', createdAt: 1 }
      await store.bases.insert({ ...base, source: 'tar', createdBy: null })
    }
    await store.quotas.set('demo', { version: 1, boxes: 3, cpus: null, ramMb: null, storageGb: null, updatedAt: 1 })
    await store.volumes.remove(volume.id, 3, { id: volume.id, root: 's', createdAt: 1 })
    expect(await typesOf()).toEqual([
      'data.created',
      'data.updated',
      'data.restored',
      'snapshot.created',
      'snapshot.deleted',
      'backup.created',
      'backup.failed',
      'backup.deleted',
      'base.created',
      'base.created',
      'quota.updated',
      'data.deleted',
    ])
  })

  test('of tokens are for admins, of shared bases for all, of projects for tokens that may read them', async () => {
    const token = {
      id: 'tok_b',
      name: 'b',
      projects: '*',
      permissions: ['read'],
      expiresAt: null,
      createdAt: 1,
    } as const
    await store.tokens.insert({
      ...token,
      permissions: ['read'],
      keyId: 'k',
      createdBy: null,
      root: 'tok_b',
      revokedAt: null,
    })
    await store.tokens.revoke('tok_b', 7)
    await store.tokens.revoke('tok_b', 8)
    const base = { id: 'bas_1', project: null, name: 'b', sizeBytes: null, subvolume: 's', createdAt: 1 }
    await store.bases.insert({ ...base, source: 'tar', createdBy: null })
    for (const project of ['demo', 'other', 'third']) await store.boxes.insert(box('web', { project }))
    const projectsSeen = async (scope: Parameters<Store['events']['read']>[0]['scope']) =>
      (await eventsOf({ scope })).map(({ type, project }) => project ?? type)
    expect(await projectsSeen({ projects: ['demo'], shared: false, admin: false })).toEqual(['demo'])
    expect(await projectsSeen({ projects: ['demo', 'third'], shared: true, admin: false })).toEqual([
      ...['base.created', 'demo', 'third'],
    ])
    expect(await projectsSeen({ projects: '*', shared: true, admin: false })).toEqual([
      ...['base.created', 'demo', 'other', 'third'],
    ])
    expect(await projectsSeen({ projects: '*', shared: true, admin: true })).toEqual([
      ...['token.created', 'token.revoked', 'base.created', 'demo', 'other', 'third'],
    ])
  })
})

describe('event numbers', () => {
  test('go on after events were pruned by age and by count, and after a reopen', async () => {
    for (let i = 0; i < 6; i++) {
      now = i
      await store.boxes.insert(box(`b${i}`))
    }
    await store.events.prune(2, 100)
    expect(await store.events.bounds()).toEqual({ oldest: 3, newest: 6 })
    await store.events.prune(0, 2)
    expect(await store.events.bounds()).toEqual({ oldest: 5, newest: 6 })
    await store.events.prune(100, 100)
    expect(await store.events.bounds()).toEqual({ oldest: 7, newest: 6 })
    await store.close()
    store = openSqliteStore(join(directory, 'boxyard.db'))
    await store.boxes.insert(box('late'))
    expect(await store.events.bounds()).toEqual({ oldest: 7, newest: 7 })
  })

  test('and their texts are bounded: a longer message is cut', async () => {
    const made = box('web')
    await store.boxes.insert(made)
    const observed = { ...made.observed, status: 'unknown', reason: 'lost', message: 'x'.repeat(1_000_000) } as const
    await change(made, { observed: observed as never })
    const last = (await eventsOf()).at(-1)
    expect(JSON.stringify(last).length).toBeLessThan(2_000)
    expect(last?.data['message']).toMatch(/^x{1024}…$/)
  })

  test('are returned up to the last one examined, also where none matched', async () => {
    for (let i = 0; i < 5; i++) await store.boxes.insert(box(`b${i}`))
    const first = await store.events.read({ ...EVERYTHING, limit: 2 })
    expect([first.events.length, first.through, first.hasMore]).toEqual([2, 2, true])
    const rest = await store.events.read({ ...EVERYTHING, after: 2, types: ['data.'] })
    expect(rest).toEqual({ events: [], through: 5, hasMore: false })
  })
})

test('a listener is called for each commit with what it is of, until it unsubscribes', async () => {
  let told = 0
  let isOf = (_scope: EventScope): boolean => false
  const stop = store.events.onCommit((given) => void ([told, isOf] = [told + 1, given]))
  await store.boxes.insert(box('a'))
  await eventually(() => told === 1)
  const scopeOf = (...projects: string[]) => ({ projects, shared: true, admin: true })
  const scopes = [scopeOf('other', 'demo'), scopeOf('other'), EVERYTHING.scope]
  expect(scopes.map((scope) => isOf(scope))).toEqual([true, false, true])
  stop()
  await store.boxes.insert(box('b'))
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  expect(told).toBe(1)
})
