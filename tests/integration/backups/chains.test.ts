import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { INCREMENTS_MAX } from '../../../agent/core/backups/backups.ts'
import type { BackupRecord } from '../../../agent/ports/store/backups.ts'
import { objectsIn } from '../../helpers/backups/lab.ts'
import { type BackupService, openBackupService } from '../../helpers/backups/service.ts'
import { CALLER } from '../../helpers/caller.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createRandom, readSeed } from '../../helpers/sample.ts'
import { expectAgreement } from '../../helpers/volumes/agreement.ts'

const vol = { project: 'demo', name: 'vol' }
const HOW = { ifMatch: null, idempotencyKey: null }
let service: BackupService
/** Content of each backup, by id. */
let held: Map<string, string>
/** Runs before an object is read, to verify or restore it. */
let onRead: (phase: Phase, name: string) => void | Promise<void>
type Phase = 'verifying' | 'receiving'

beforeEach(async () => {
  onRead = () => undefined
  service = openBackupService((store) => ({
    ...store,
    digest: async (name, signal) => {
      await onRead('verifying', name)
      return store.digest(name, signal)
    },
    get: async (name, signal) => {
      await onRead('receiving', name)
      return store.get(name, signal)
    },
  }))
  held = new Map()
  await service.volumes.addBase()
  await service.volumes.volumes.create(CALLER, { project: 'demo', body: { name: 'vol', size_gb: 1 } }, HOW)
})

afterEach(() => service.close())

async function back(content: string): Promise<BackupRecord> {
  service.advance(1)
  await service.write('vol', content)
  const record = await service.back('vol')
  expect(record).toMatchObject({ status: 'done', error: null })
  held.set(record.id, content)
  return record
}

const listed = (): Promise<BackupRecord[]> => service.parts.backups.list(vol)
const remove = (id: string): Promise<void> => service.parts.backups.remove(vol, id, null)
const idOf = ({ id }: { id: string }): string => id
const directories = (): string[] => [...new Set(objectsIn(service.folder).map((name) => name.split('/').at(-2) ?? ''))]

/** Checks that every listed backup, or each of `ids`, restores to its content, and that the store lists the same backups. */
async function expectWhole(ids?: readonly (string | undefined)[]): Promise<void> {
  await eventually(async () => {
    const stored = await service.parts.catalog.list('demo')
    const alive = stored.filter(({ files }) => !files.includes('deleted.json')).map(idOf)
    return alive.join() === (await listed()).map(idOf).join()
  }, 5)
  for (const { id } of await listed()) {
    if (ids && !ids.includes(id)) continue
    const refused = await service.restore('vol', id, 'check')
    if (refused?.code === 'backup_not_found' && !(await listed()).map(idOf).includes(id)) continue
    expect(refused).toBeNull()
    expect(await service.read('check')).toBe(held.get(id))
    await service.volumes.volumes.remove({ project: 'demo', name: 'check' }, HOW)
  }
}

describe('a chain of backups', () => {
  test(`has ${INCREMENTS_MAX} increments at most, and then begins anew with a full one`, async () => {
    const made: BackupRecord[] = []
    for (let index = 0; index < INCREMENTS_MAX + 4; index++) made.push(await back(`content ${index}`))
    const full = made.flatMap(({ parent }, index) => (parent === null ? [index] : []))
    expect(full).toEqual([0, INCREMENTS_MAX + 1])
    for (const [index, { parent }] of made.entries()) {
      if (parent !== null) expect(parent.id).toBe(made[index - 1]?.id)
    }
    const ends = [INCREMENTS_MAX, INCREMENTS_MAX + 1, INCREMENTS_MAX + 3].map((index) => made[index]?.id)
    await expectWhole(ends)
    // The whole first chain can be deleted.
    for (const { id } of made.slice(0, INCREMENTS_MAX + 1)) await remove(id)
    await eventually(() => directories().length === 3, 5)
    await expectWhole()
  })

  test('goes on after a restore to a snapshot of the volume, but not across data of another origin', async () => {
    const first = await back('one')
    await service.volumes.snapshots.create(CALLER, vol, { body: { name: 'good' }, idempotencyKey: null })
    const second = await back('two')
    await service.volumes.restore('vol', 'good')
    const third = await back('three')
    expect([second.parent?.id, third.parent?.id]).toEqual([first.id, second.id])
    expect(await service.restore('vol', first.id)).toBeNull()
    expect(await service.read('vol')).toBe('one')
    const fourth = await back('four')
    expect([fourth.parent, fourth.depth]).toEqual([null, 0])
    expect((await back('five')).parent?.id).toBe(fourth.id)
    // The replaced data still has its origin from before that restore, so its next backup is full.
    const [automatic] = (await service.volumes.snapshots.list(vol, { max_results: 10 })).states.filter(({ record }) =>
      record.comment?.includes(`backup:${first.id}`),
    )
    await service.volumes.restore('vol', automatic?.record.name ?? '')
    expect(await service.read('vol')).toBe('three')
    expect((await back('six')).parent).toBeNull()
    await expectWhole()
  })

  test('is never broken by deletes and expiry, in any order', async () => {
    const random = createRandom(readSeed())
    const { store } = service.volumes
    for (let round = 0; round < 40; round++) {
      const records = await listed()
      const [one] = records.filter(() => random() < 0.3)
      if (one && random() < 0.5) await remove(one.id)
      else {
        const record = await back(`round ${round}`)
        if (random() < 0.7) await store.backups.write([{ ...record, automatic: true }])
      }
      if (random() < 0.3) await service.restore('vol', one?.id ?? 'bak_none')
      const bounds = { keep_count: Math.ceil(random() * 3), keep_seconds: Math.ceil(random() * 100) }
      if (random() < 0.3) {
        await service.parts.schedules.set(vol, { interval_seconds: 60_000_000, ...bounds }, null)
        service.advance(Math.floor(random() * 60_000))
      }
      if (round % 10 === 9) await expectWhole()
    }
    for (const { id } of await listed()) await remove(id)
    await eventually(() => objectsIn(service.folder).length === 0, 5)
    await service.volumes.volumes.remove(vol, HOW)
    await expectAgreement(service.volumes)
    expect([...service.volumes.world.pool.keys()]).toEqual(['bas_a'])
  })
})

describe('a schedule', () => {
  const set = (body: { interval_seconds: number | null; keep_count?: number; keep_seconds?: number }) =>
    service.parts.schedules.set(vol, body, null)
  const done = async (): Promise<BackupRecord[]> => (await listed()).filter(({ status }) => status === 'done')
  let ending: () => Promise<void>

  beforeEach(() => {
    ending = service.parts.startSchedules()
  })

  afterEach(() => ending())

  /** Advances the clock, and waits until the scheduler has checked. */
  async function pass(ms: number): Promise<void> {
    const before = service.sleeps()
    service.advance(ms)
    await eventually(() => service.sleeps() > before, 2)
  }

  /** Waits until the schedule has made its next backup. */
  async function next(content: string): Promise<BackupRecord> {
    const before = new Set((await listed()).map(idOf))
    await service.write('vol', content)
    await pass(60_000)
    await eventually(async () => (await done()).some(({ id }) => !before.has(id)), 5)
    const made = (await done()).find(({ id }) => !before.has(id))
    held.set(made?.id ?? '', content)
    return made as BackupRecord
  }

  test('makes a backup at once, and one after each interval', async () => {
    await service.write('vol', 'now')
    await set({ interval_seconds: 60 })
    await eventually(async () => (await done()).length === 1, 5)
    held.set((await done())[0]?.id ?? '', 'now')
    await pass(54_000)
    await pass(5_000)
    expect(await listed()).toHaveLength(1)
    await pass(5_000)
    await eventually(async () => (await done()).length === 2, 5)
    held.set((await done())[1]?.id ?? '', 'now')
    expect((await done()).every(({ automatic }) => automatic)).toBe(true)
    await set({ interval_seconds: null })
    await pass(600_000)
    await pass(600_000)
    expect(await listed()).toHaveLength(2)
    await expectWhole()
  })

  test('keeps its number of backups, which stay whole when those they build on expire', async () => {
    const asked = await back('asked for')
    service.advance(1)
    await set({ interval_seconds: 60, keep_count: 2 })
    await eventually(async () => (await done()).length === 2, 5)
    held.set((await done())[1]?.id ?? '', 'asked for')
    const made: BackupRecord[] = []
    for (let index = 0; index < 6; index++) made.push(await next(`content ${index}`))
    await eventually(async () => (await listed()).length === 4, 5)
    expect((await listed()).map(idOf)).toEqual([asked.id, ...made.slice(-3).map(idOf)])
    // The whole chain stays because newer backups build on it.
    expect(directories()).toHaveLength(8)
    await expectWhole()
  })

  test('keeps none beyond its age, except the newest', async () => {
    await set({ interval_seconds: 60, keep_seconds: 100 })
    await eventually(async () => (await done()).length === 1, 5)
    for (let index = 0; index < 4; index++) await next(`content ${index}`)
    await eventually(async () => (await listed()).length === 2, 5)
    await expectWhole()
    await pass(10_000_000)
    await eventually(async () => (await done()).length === 1, 5)
  })

  test('tries again one interval after a failure', async () => {
    const { filesystem } = service.volumes
    const { send } = filesystem
    filesystem.send = () => {
      throw new Error('the disk is ill')
    }
    await set({ interval_seconds: 60 })
    await eventually(async () => (await listed())[0]?.status === 'failed', 5)
    filesystem.send = send
    await pass(5_000)
    await pass(5_000)
    expect((await listed()).map(({ status }) => status)).toEqual(['failed'])
    await next('well again')
    expect((await listed()).map(({ status }) => status)).toEqual(['failed', 'done'])
  })
})

describe('a restore over the volume', () => {
  async function damageDuring(phase: Phase, damage: (path: string) => void): Promise<void> {
    const made = [await back('one'), await back('two')]
    await service.write('vol', 'later')
    const part = `${made[0]?.id}/part-00000.zst`
    onRead = (now, name) => {
      if (now === phase && name.endsWith(part)) damage(join(service.folder, name))
    }
    const refused = await service.restore('vol', made[1]?.id ?? '')
    expect(refused).toMatchObject({ code: 'backup_damaged', detail: expect.stringContaining(part) })
    expect(await service.read('vol')).toBe('later')
    expect((await service.volumes.snapshots.list(vol, { max_results: 10 })).states).toEqual([])
  }

  const flip = (path: string): void => {
    const bytes = readFileSync(path)
    bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9)
    writeFileSync(path, bytes)
  }

  test.each(['verifying', 'receiving'] as const)(
    'names a part found altered while %s, and leaves the volume unchanged',
    (phase) => damageDuring(phase, flip),
  )

  const removed = async (id: string): Promise<void> => {
    await remove(id)
    await eventually(() => directories().length === 0, 5)
  }

  test.each(['verifying', 'receiving'] as const)('tells that the backup was deleted while %s', async (phase) => {
    const { id } = await back('one')
    let removal: Promise<void> | undefined
    onRead = async (now, name) => {
      if (now === phase && name.endsWith('part-00000.zst')) await (removal ??= removed(id))
    }
    expect(await service.restore('vol', id)).toMatchObject({ code: 'backup_not_found' })
    expect(await service.read('vol')).toBe('one')
  })
})
