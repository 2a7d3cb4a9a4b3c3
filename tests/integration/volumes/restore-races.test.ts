import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { ServiceError } from '../../../shared/errors.ts'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { CALLER } from '../../helpers/caller.ts'
import { createRandom, readSeed } from '../../helpers/sample.ts'
import { expectAgreement } from '../../helpers/volumes/agreement.ts'
import { openVolumeService, type VolumeService } from '../../helpers/volumes/service.ts'

const HOW = { ifMatch: null, idempotencyKey: null, check: () => undefined }
const PATIENT = { ...HOW, waitMs: 5000 }
const vol = { project: 'demo', name: 'vol' }
const box = (name: string) => ({ project: 'demo', name })
let random: () => number
let service: VolumeService

beforeEach(async () => {
  random = createRandom(readSeed())
  service = openVolumeService(() => Math.floor(random() * 4))
  await service.addBase()
  await service.volumes.create(CALLER, { project: 'demo', body: { name: 'vol', size_gb: 1 } }, HOW)
  await write('good')
  await snapshot('good')
  await write('later')
})

afterEach(() => service.close())

async function write(content: string): Promise<void> {
  const { record } = await service.volumes.get(vol)
  const subvolume = service.world.pool.get(record.subvolume)
  if (subvolume === undefined) throw new Error('the data is lost')
  subvolume.content = content
}

async function content(): Promise<string | undefined> {
  return service.world.pool.get((await service.volumes.get(vol)).record.subvolume)?.content
}

function snapshot(name?: string) {
  return service.snapshots.create(CALLER, vol, { body: name === undefined ? {} : { name }, idempotencyKey: null })
}

function makeBox(name: string, mount?: { path: string; read_only: boolean }) {
  const mounts = mount ? { data_mounts: [{ name: 'vol', ...mount }] } : {}
  return service.boxes.create(CALLER, { project: 'demo', body: { name, ...mounts } }, PATIENT)
}

const attach = (name: string, readOnly: boolean) =>
  service.attachments.attach(vol, { box: name, path: '/vol', read_only: readOnly }, PATIENT)
const detach = (name: string) => service.attachments.detach(vol, name, { ...PATIENT, answerOf: () => null })

/** Counts the detaches that the runtime refuses after this call. */
function countRefusals(): { count: number } {
  const refusals = { count: 0 }
  const { runtime } = service
  const { detach } = runtime
  runtime.detach = (...given) =>
    detach(...given).catch((error: unknown) => {
      refusals.count++
      throw error
    })
  return refusals
}

async function automatic(): Promise<string[]> {
  const { record } = await service.volumes.get(vol)
  return (await service.store.snapshots.of(record.id)).filter((each) => each.automatic).map(({ name }) => name)
}

describe('a restore of a volume', () => {
  test('concurrent with another follows it, and keeps the data each replaced', async () => {
    await makeBox('web', { path: '/vol', read_only: false })
    await snapshot('later')
    await Promise.all([service.restore('vol', 'good'), service.restore('vol', 'later')])
    expect(['good', 'later']).toContain(await content())
    expect(await automatic()).toHaveLength(2)
    await expectAgreement(service)
  })

  test('of an unattached volume follows a concurrent one, too', async () => {
    await Promise.all(Array.from({ length: 3 }, () => service.restore('vol', 'good')))
    expect(await automatic()).toHaveLength(3)
    expect(await content()).toBe('good')
    await expectAgreement(service)
  })

  test('during attaches, detaches and creates leaves no box with old data', async () => {
    for (const name of ['one', 'two', 'three']) await makeBox(name)
    await attach('one', false)
    await Promise.all([
      service.restore('vol', 'good'),
      attach('two', true),
      detach('one'),
      makeBox('four', { path: '/vol', read_only: true }),
      sleep(5).then(() => attach('three', true)),
    ])
    expect(await content()).toBe('good')
    await expectAgreement(service)
  })

  test('during stop, resume and delete of a box with the volume always ends', async () => {
    await makeBox('one', { path: '/vol', read_only: false })
    await makeBox('two', { path: '/vol', read_only: true })
    const life = async (): Promise<void> => {
      await service.boxes.stop(box('one'), PATIENT)
      await service.boxes.resume(box('one'), PATIENT)
      await service.boxes.remove(box('one'), PATIENT)
    }
    await Promise.all([life(), service.restore('vol', 'good'), service.restore('vol', 'good')])
    expect(await content()).toBe('good')
    await expectAgreement(service)
  })

  test('during a delete of the volume ends in one of the two, and leaves nothing', async () => {
    const [restored, removed] = await Promise.allSettled([
      service.restore('vol', 'good'),
      sleep(2).then(() => service.volumes.remove(vol, HOW)),
    ])
    expect(removed.status).toBe('fulfilled')
    if (restored.status === 'rejected') expect(restored.reason).toMatchObject({ code: 'volume_not_found' })
    expect(await service.store.snapshots.all()).toEqual([])
    await expectAgreement(service)
    expect([...service.world.pool.keys()]).toEqual(['bas_a'])
  })

  test('during a delete of its snapshot succeeds or does not find it', async () => {
    const [restored] = await Promise.allSettled([
      service.restore('vol', 'good'),
      service.snapshots.remove(vol, 'good', null),
    ])
    if (restored.status === 'rejected') expect(restored.reason).toMatchObject({ code: 'snapshot_not_found' })
    expect(await content()).toBe(restored.status === 'rejected' ? 'later' : 'good')
    await expectAgreement(service)
  })

  test('during a resize of the volume keeps the new size', async () => {
    await Promise.all([
      service.restore('vol', 'good'),
      ...[2, 3, 4].map((size) => service.volumes.update(vol, { size_gb: size }, HOW)),
    ])
    await expectAgreement(service)
  })

  test('that is busy in one box gives all others their data back, and keeps no snapshot', async () => {
    for (const name of ['one', 'two', 'three']) await makeBox(name, { path: '/vol', read_only: true })
    const two = await service.boxes.get(box('two'))
    service.world.busy.add(two.id)
    const before = (await service.volumes.get(vol)).record
    await expect(service.restore('vol', 'good', 50)).rejects.toMatchObject({ code: 'volume_busy' })
    expect((await service.volumes.get(vol)).record).toEqual(before)
    expect(await automatic()).toEqual([])
    await expectAgreement(service)
    service.world.busy.clear()
    await service.restore('vol', 'good')
    await expectAgreement(service)
  })

  test('waits for the processes that use the volume, and retries only their box', async () => {
    for (const name of ['one', 'two']) await makeBox(name, { path: '/vol', read_only: true })
    const [one, two] = [await service.boxes.get(box('one')), await service.boxes.get(box('two'))]
    service.world.busy.add(two.id)
    const refusals = countRefusals()
    const restored = service.restore('vol', 'good', 60_000)
    // After the first attempt, the service asks the box that refused first.
    await untilTrue(() => refusals.count >= 2)
    for (let look = 0; look < 50; look++) {
      expect(service.world.mounts.get(one.id)).toHaveLength(1)
      await sleep(2)
    }
    service.world.busy.clear()
    await restored
    expect(await content()).toBe('good')
    await expectAgreement(service)
  })

  test('holds up no box whose volume is busy elsewhere', async () => {
    for (const name of ['one', 'two']) await makeBox(name, { path: '/vol', read_only: true })
    service.world.busy.add((await service.boxes.get(box('two'))).id)
    const restored = expect(service.restore('vol', 'good', 2000)).rejects.toMatchObject({ code: 'volume_busy' })
    await sleep(50)
    const stopped = await service.boxes.stop(box('one'), PATIENT)
    expect(stopped.record.observed.status).toBe('stopped')
    expect(await automatic()).toEqual([])
    await restored
    await expectAgreement(service)
  })

  test('holds up no box while another one is slow to stop', async () => {
    for (const name of ['one', 'two']) await makeBox(name, { path: '/vol', read_only: true })
    const [one, two] = [await service.boxes.get(box('one')), await service.boxes.get(box('two'))]
    const { promise, resolve: release } = Promise.withResolvers<void>()
    const last = one.id < two.id ? two : one
    service.world.wedged.set(last.id, promise)
    // Longer than the wait for the other stop. The reconciler's limit for a stop is longer as well.
    const slow = service.boxes.stop(last, { ...PATIENT, waitMs: 60_000 })
    const restored = service.restore('vol', 'good', 60_000)
    await sleep(20)
    const quick = await service.boxes.stop(last === two ? one : two, { ...PATIENT, waitMs: 15_000 })
    expect(quick.isSettled).toBe(true)
    release()
    await Promise.all([slow, restored])
    expect(await content()).toBe('good')
    await expectAgreement(service)
  })
})

describe('data read before a restore', () => {
  /** Runs `work` after the next read of a volume, before the read returns. */
  const afterNextLook = (work: () => Promise<unknown>): void => {
    const { volumes } = service.store
    const { get } = volumes
    volumes.get = async (project, name) => {
      volumes.get = get
      const seen = await get(project, name)
      await work()
      return seen
    }
  }

  test('is not attached to a running box', async () => {
    await makeBox('one')
    afterNextLook(() => service.restore('vol', 'good'))
    await attach('one', false)
    await expectAgreement(service)
  })

  test('is not what is detached from a box', async () => {
    await makeBox('one', { path: '/vol', read_only: false })
    afterNextLook(() => service.restore('vol', 'good'))
    await detach('one')
    await expectAgreement(service)
  })

  test('is not resized', async () => {
    const old = (await service.volumes.get(vol)).record.subvolume
    afterNextLook(async () => {
      for (let round = 0; round < 4; round++) await service.restore('vol', 'good')
      await untilTrue(() => !service.world.pool.has(old))
    })
    expect((await service.volumes.update(vol, { size_gb: 3 }, HOW)).record.sizeGb).toBe(3)
    await expectAgreement(service)
  })

  test('is not replaced by another restore', async () => {
    const { boxes } = service.store
    const { swap } = boxes
    boxes.swap = async (wanted) => {
      boxes.swap = swap
      await service.restore('vol', 'good')
      return swap(wanted)
    }
    await service.restore('vol', 'good')
    expect(await automatic()).toHaveLength(2)
    await expectAgreement(service)
  })
})

test('random concurrent requests for a volume and its boxes keep records and reality in agreement, without old data', async () => {
  for (const name of ['one', 'two']) await makeBox(name)
  const acts: (() => Promise<unknown>)[] = [
    () => service.restore('vol', 'good', 500),
    () => service.restore('vol', 'good', 500),
    () => attach('one', random() < 0.5),
    () => attach('two', true),
    () => detach('one'),
    () => detach('two'),
    () => service.boxes.stop(box('one'), PATIENT),
    () => service.boxes.resume(box('one'), PATIENT),
    () => snapshot(),
    () => service.volumes.update(vol, { size_gb: 1 + Math.floor(random() * 3) }, HOW),
    () =>
      service.volumes.create(
        CALLER,
        { project: 'demo', body: { name: `copy-${random()}`.replace('.', ''), from: 'vol' } },
        HOW,
      ),
  ]
  for (let round = 0; round < 25; round++) {
    const chosen = acts.filter(() => random() < 0.5)
    const outcomes = await Promise.allSettled(chosen.map((act) => sleep(Math.floor(random() * 6)).then(act)))
    const faults = outcomes.flatMap((each) =>
      each.status === 'rejected' && !isRefusal(each.reason) ? [each.reason] : [],
    )
    expect(faults).toEqual([])
    expect((await automatic()).length).toBeLessThanOrEqual(3)
    expect(['good', 'later']).toContain(await content())
    await expectAgreement(service)
  }
})

function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && error.status < 500
}
