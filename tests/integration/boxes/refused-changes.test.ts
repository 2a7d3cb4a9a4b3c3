import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type Boxes, createBoxes } from '../../../agent/core/boxes/boxes.ts'
import { type Admission, createAdmission, UNLIMITED_QUOTA } from '../../../agent/core/common/admission.ts'
import { Reconciler } from '../../../agent/core/reconcile/reconciler.ts'
import { createVolumes, type Volumes } from '../../../agent/core/volumes/volumes.ts'
import { createLocalDirectory } from '../../../agent/drivers/fleet/directory-local.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { Runtime } from '../../../agent/ports/boxes/runtime.ts'
import type { CowFilesystem } from '../../../agent/ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord, SMALL_CONFIG } from '../../helpers/boxes/box-records.ts'
import { eventually } from '../../helpers/eventually.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { silentMeter } from '../../helpers/silent-meter.ts'

const GIB = 1024 ** 3
const CALLER = {
  tokenId: 'tok_a',
  tokenName: 'a',
  root: 'tok_a',
  accounts: ['token tok_a'],
  projects: '*',
  permissions: ['write'],
  expiresAt: null,
  requestId: 'req_a',
} as const
const HOW = { ifMatch: null, idempotencyKey: null, check: () => undefined }

let directory: string
let store: Store
let admission: Admission
let reconciler: Reconciler
let volumes: Volumes
let boxes: Boxes
/** Quotas of existing subvolumes, in GiB. */
let quotas: Map<string, number>
/** Runs once, while the next quota is set. */
let meanwhile: () => Promise<unknown>
let resize: () => Promise<void>
let stop: () => Promise<void>

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-changes-'))
  store = openSqliteStore(join(directory, 'boxyard.db'))
  quotas = new Map()
  meanwhile = async () => undefined
  resize = async () => undefined
  stop = async () => undefined
  const clock = { now: () => Date.now(), sleep: (ms: number, signal?: AbortSignal) => pause(ms, signal) }
  const host = { load: () => ({ memory: { total_bytes: 64 * GIB, available_bytes: 64 * GIB } }) }
  const filesystem = faultyFilesystem()
  const runtime = runtimeOf()
  admission = createAdmission({
    store,
    host: host as never,
    limits: { boxesMax: 10, volumesMax: 1000, memoryOvercommit: 1, memoryReserveBytes: 0 },
    defaultQuota: UNLIMITED_QUOTA,
  })
  const homes = createLocalDirectory()
  reconciler = new Reconciler({
    ...{
      store,
      runtime,
      filesystem,
      clock,
      directory: homes,
      logger: silentLogger,
      meter: silentMeter,
      bootId: 'boot',
    },
    outputs: { removeBox: async () => undefined },
    actorContext: { current: () => null },
    limits: {
      startsAtOnce: 1,
      startDeadlineMs: 3_000,
      stopSlackMs: 3_000,
      pidsPerBox: 10,
      allowsNesting: false,
      networkMbps: null,
      diskMbps: null,
      diskIops: null,
    },
  })
  const defaults = {
    base: 'busybox',
    config: SMALL_CONFIG,
    gracePeriodSeconds: 1,
    allowsNesting: false,
    hostCores: 2,
    node: 'local',
    volumeSizeGb: 1,
  }
  const deps = { store, runtime, filesystem, directory: homes, reconciler, clock, admission, defaults }
  volumes = createVolumes(deps)
  boxes = createBoxes(deps)
})

afterEach(async () => {
  await reconciler.close()
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function faultyFilesystem(): CowFilesystem {
  const existing = async (name: string): Promise<void> => {
    if (!quotas.has(name)) throw new Error(`no subvolume ${name}`)
  }
  const filesystem: Partial<CowFilesystem> = {
    path: (name) => `/pool/${name}`,
    exists: async (name) => quotas.has(name),
    create: async (name) => void quotas.set(name, 0),
    setQuota: async (name, bytes) => {
      await existing(name)
      quotas.set(name, (bytes ?? 0) / GIB)
      const act = meanwhile
      meanwhile = async () => undefined
      await act()
    },
    usedBytes: async (name) => {
      await existing(name)
      return 0
    },
    destroy: async (name) => void quotas.delete(name),
  }
  return filesystem as CowFilesystem
}

function runtimeOf(): Runtime {
  const running: string[] = []
  const runtime: Partial<Runtime> = {
    checkReady: async () => undefined,
    start: async ({ id }) => {
      running.push(id)
      return { id, isRunning: true, pid: 1 }
    },
    stop: () => stop(),
    mounts: async () => [],
    resize: () => resize(),
  }
  return runtime as Runtime
}

async function makeVolume(name: string): Promise<string> {
  const { record } = await volumes.create(CALLER, { project: 'demo', body: { name, size_gb: 1 } }, HOW)
  return record.subvolume
}

/** Makes a box with a root of 1 GiB. */
async function makeBox(name: string, power: 'running' | 'stopped'): Promise<BoxRecord> {
  const id = newId('box', Date.now())
  const observed = { status: 'stopped', reason: 'stopped_by_request', message: null, since: 1, bootId: null } as const
  const stopped = boxRecord({
    ...{ id, name, root: `sub_${id}`, gracePeriodSeconds: 0 },
    desired: { power: 'stopped', generation: 1 },
    observed: { ...observed, generation: 1 },
  })
  await store.boxes.insert(stopped)
  quotas.set(stopped.root, 1)
  if (power === 'running') await boxes.resume({ project: 'demo', name }, { ...HOW, waitMs: 10_000 })
  return stopped
}

/** Attaches the volume to a box, which increases the volume's version. */
async function attachSomewhere(name: string): Promise<void> {
  const volume = await store.volumes.get('demo', name)
  if (volume === null) throw new Error('no volume')
  const { id: volumeId, subvolume } = volume
  const mounts = [{ volumeId, name, subvolume, path: '/m', readOnly: true }]
  await store.boxes.insert(boxRecord({ id: newId('box', Date.now()), name: 'other', mounts }))
}

describe('a volume', () => {
  const ref = { project: 'demo', name: 'logs' }

  test('whose update is refused at the last moment keeps its size', async () => {
    const subvolume = await makeVolume('logs')
    meanwhile = () => attachSomewhere('logs')
    const update = volumes.update(ref, { size_gb: 5 }, { ...HOW, ifMatch: '"1"' })
    await expect(update).rejects.toMatchObject({ code: 'precondition_failed' })
    expect(quotas.get(subvolume)).toBe(1)
    expect((await volumes.get(ref)).record.sizeGb).toBe(1)
  })

  test('has the size that is recorded after many updates at once', async () => {
    const subvolume = await makeVolume('logs')
    await Promise.all([2, 3, 4, 5].map((size) => volumes.update(ref, { size_gb: size }, HOW)))
    expect(quotas.get(subvolume)).toBe((await volumes.get(ref)).record.sizeGb)
  })

  test('that is deleted during its update is not found', async () => {
    const subvolume = await makeVolume('logs')
    meanwhile = async () => {
      await volumes.remove(ref, HOW)
      quotas.delete(subvolume)
      throw new Error(`no subvolume ${subvolume}`)
    }
    await expect(volumes.update(ref, { size_gb: 5 }, HOW)).rejects.toMatchObject({ code: 'volume_not_found' })
  })

  test('whose data is lost can be deleted', async () => {
    quotas.delete(await makeVolume('logs'))
    await volumes.remove(ref, HOW)
    expect(await store.volumes.get('demo', 'logs')).toBeNull()
  })
})

describe('a box', () => {
  test('that is stopped keeps its size when its update is refused at the last moment', async () => {
    const { root, id } = await makeBox('web', 'stopped')
    meanwhile = async () => {
      const record = await store.boxes.byId(id)
      if (record) await store.boxes.replace({ ...record, version: record.version + 1 })
    }
    const update = boxes.update(
      { project: 'demo', name: 'web' },
      { config: { storage_gb: 5 } },
      { ...HOW, ifMatch: '"1"', waitMs: 1000 },
    )
    await expect(update).rejects.toMatchObject({ code: 'precondition_failed' })
    expect(quotas.get(root)).toBe(1)
  })

  test('whose limits do not change in time holds up no other box, and has its next step', async () => {
    await makeBox('wedged', 'running')
    await makeBox('web', 'stopped')
    resize = () => new Promise(() => undefined)
    const how = { ...HOW, waitMs: 10_000 }
    const update = boxes.update({ project: 'demo', name: 'wedged' }, { config: { ram_mb: 128 } }, how)
    const refused = expect(update).rejects.toMatchObject({ code: 'internal' })
    const resumed = await boxes.resume({ project: 'demo', name: 'web' }, { ...HOW, waitMs: 2_000 })
    expect(resumed.record.observed.status).toBe('running')
    await refused
    const stopped = await boxes.stop({ project: 'demo', name: 'wedged' }, how)
    expect(stopped.record.observed.status).toBe('stopped')
  })

  test('that a slow stop ends after a resume is shown as stopped', async () => {
    const ref = { project: 'demo', name: 'web' }
    const { id } = await makeBox('web', 'running')
    const { promise, resolve: release } = Promise.withResolvers<void>()
    stop = () => promise
    const how = { ...HOW, waitMs: 20_000 }
    expect((await boxes.stop(ref, how)).record.observed.status).toBe('unknown')
    expect((await boxes.resume(ref, how)).record.observed.status).toBe('running')
    stop = async () => undefined
    release()
    const settled = async (): Promise<string | undefined> => (await store.boxes.byId(id))?.observed.status
    await eventually(async () => (await settled()) === 'stopped', 10)
    expect(await settled()).toBe('stopped')
  })
})
