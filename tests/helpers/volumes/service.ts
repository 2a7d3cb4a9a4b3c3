import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Boxes, createBoxes } from '../../../agent/core/boxes/boxes.ts'
import { type Admission, createAdmission, UNLIMITED_QUOTA } from '../../../agent/core/common/admission.ts'
import { Reconciler } from '../../../agent/core/reconcile/reconciler.ts'
import { type Attachments, createAttachments } from '../../../agent/core/volumes/attachments.ts'
import { restoreVolume } from '../../../agent/core/volumes/restore.ts'
import { createVolumeSnapshots, type VolumeSnapshots } from '../../../agent/core/volumes/snapshots.ts'
import { createVolumes, type Volumes } from '../../../agent/core/volumes/volumes.ts'
import { createLocalDirectory } from '../../../agent/drivers/fleet/directory-local.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { BoxMount, Runtime } from '../../../agent/ports/boxes/runtime.ts'
import type { Directory } from '../../../agent/ports/fleet/directory.ts'
import type { CowFilesystem } from '../../../agent/ports/pool/cow-filesystem.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { SMALL_CONFIG } from '../boxes/box-records.ts'
import { CALLER } from '../caller.ts'
import { silentLogger } from '../silent-logger.ts'
import { silentMeter } from '../silent-meter.ts'

/** The core for volumes over a real store. The steps of its fake pool and runtime take random times. */
export interface VolumeService {
  store: Store
  volumes: Volumes
  snapshots: VolumeSnapshots
  attachments: Attachments
  boxes: Boxes
  /** Restores volume `demo/name`. */
  restore(name: string, snapshot: string, waitMs?: number): Promise<void>
  /** Adds a base named `base`, from which boxes start. */
  addBase(): Promise<void>
  world: VolumeWorld
  reconciler: Reconciler
  filesystem: CowFilesystem
  runtime: Runtime
  admission: Admission
  defaults: { volumeSizeGb: number }
  close(): Promise<void>
}

/** The state of the fake pool and runtime. */
export interface VolumeWorld {
  /** By subvolume name. */
  pool: Map<string, { content: string; quotaBytes: number | null; isReadOnly: boolean; origin?: string }>
  /** Mounts of running boxes, by box id. */
  mounts: Map<string, BoxMount[]>
  /** Boxes whose processes use all their volumes. */
  busy: Set<string>
  /** Boxes whose stop waits for these promises. */
  wedged: Map<string, Promise<void>>
  /** Descriptions of broken invariants. */
  violations: string[]
}

export interface VolumeServiceOptions {
  /** Default: a temporary directory, which `close` removes. */
  dataDir?: string
  /** Default: a local directory, in which this service owns all names. */
  homes?: Directory
  /** The world of the directory's earlier service. Default: an empty world. */
  world?: VolumeWorld
}

/** Opens a service. `pauseMs` returns the duration of the next step. */
export function openVolumeService(pauseMs: () => number, options: VolumeServiceOptions = {}): VolumeService {
  const { homes = createLocalDirectory(), dataDir } = options
  const directory = dataDir ?? mkdtempSync(join(tmpdir(), 'boxyard-volume-service-'))
  const store = openSqliteStore(join(directory, 'boxyard.db'))
  const world = options.world ?? emptyWorld()
  const step = (): Promise<void> => sleep(pauseMs())
  const filesystem = createFakePool(world, step)
  const runtime = createFakeRuntime(world, step)
  const clock = {
    now: () => Date.now(),
    sleep: (ms: number, signal?: AbortSignal) =>
      sleep(ms, undefined, signal ? { signal } : {}).catch(() => undefined) as Promise<void>,
  }
  const host = { load: () => ({ memory: { total_bytes: 64 * GIB, available_bytes: 64 * GIB } }) }
  const limits = { boxesMax: 1000, volumesMax: 1000, memoryOvercommit: 1, memoryReserveBytes: 0 }
  const admission = createAdmission({ store, host: host as never, limits, defaultQuota: UNLIMITED_QUOTA })
  const given = { store, runtime, filesystem, directory: homes, clock, logger: silentLogger }
  const reconciler = new Reconciler({
    ...given,
    ...{ meter: silentMeter, bootId: 'boot', limits: LIMITS },
    outputs: { removeBox: async () => undefined },
    actorContext: { current: () => null },
  })
  const defaults = {
    base: 'base',
    config: { ...SMALL_CONFIG, cpus: 0.1, ram_mb: 16 },
    gracePeriodSeconds: 0,
    allowsNesting: false,
    hostCores: 2,
    node: 'local',
    volumeSizeGb: 1,
  }
  const deps = { ...given, reconciler, admission, defaults }
  const boxes = createBoxes(deps)
  return {
    ...{ store, world, boxes, reconciler, filesystem, runtime, admission, defaults },
    volumes: createVolumes(deps),
    snapshots: createVolumeSnapshots({ ...deps, limits: { idempotencyKeepMs: 60_000 } }),
    attachments: createAttachments({ ...deps, boxes }),
    restore: (name, snapshot, waitMs = 5000) =>
      restoreVolume(deps, { project: 'demo', name }, { snapshot, waitMs, ifMatch: null, tokenId: CALLER.tokenId }),
    addBase: async () => {
      world.pool.set('bas_a', { content: 'base', quotaBytes: null, isReadOnly: true })
      const base = { id: 'bas_a', project: null, name: 'base', sizeBytes: null, subvolume: 'bas_a', createdBy: null }
      await store.bases.insert({ ...base, createdAt: 1, source: 'test' })
    },
    close: async () => {
      await reconciler.close()
      await store.close()
      if (dataDir === undefined) rmSync(directory, { recursive: true, force: true })
    },
  }
}

function emptyWorld(): VolumeWorld {
  return { pool: new Map(), mounts: new Map(), busy: new Set(), wedged: new Map(), violations: [] }
}

function createFakePool({ pool, mounts, violations }: VolumeWorld, step: () => Promise<void>): CowFilesystem {
  const existing = (name: string) => {
    const found = pool.get(name)
    if (found === undefined) throw new Error(`no subvolume ${name}`)
    return found
  }
  const filesystem: Partial<CowFilesystem> = {
    path: (name) => `/pool/${name}`,
    exists: async (name) => pool.has(name),
    checkWritable: async () => undefined,
    withSoundWrites: (work) => work(),
    create: async (name) => {
      await step()
      pool.set(name, { content: '', quotaBytes: null, isReadOnly: false, origin: name })
    },
    snapshot: async ({ source, name, isReadOnly, quotaBytes }) => {
      await step()
      pool.set(name, { ...existing(source), quotaBytes, isReadOnly })
    },
    setReadOnly: async (name, isReadOnly) => {
      await step()
      existing(name).isReadOnly = isReadOnly
    },
    setQuota: async (name, quotaBytes) => {
      await step()
      existing(name).quotaBytes = quotaBytes
    },
    origin: async (name) => pool.get(name)?.origin ?? null,
    send: ({ name, parent }) => sendContent(existing(name), parent === null ? null : existing(parent), step),
    receive: async ({ container, name, quotaBytes, streams }) => {
      pool.set(container, { content: '', quotaBytes: null, isReadOnly: false, origin: container })
      let content: string | null = null
      for await (const stream of streams) {
        await step()
        const { from, to }: { from: string | null; to: string } = JSON.parse(await textOf(stream))
        if (from !== content) throw new Error('an increment of something else')
        content = to
      }
      if (content === null) throw new Error('nothing was received')
      pool.set(name, { content, quotaBytes, isReadOnly: false, origin: container })
    },
    usedBytes: async (name) => {
      existing(name)
      return 0
    },
    destroy: async (name) => {
      await step()
      const users = [...mounts].filter(([, all]) => all.some(({ source }) => source === `/pool/${name}`))
      for (const [boxId] of users) violations.push(`${name} is destroyed while ${boxId} has it`)
      pool.delete(name)
    },
    capacity: async () => ({ path: '/', totalBytes: 64 * GIB, usedBytes: 0, availableBytes: 64 * GIB }),
  }
  return filesystem as CowFilesystem
}

type FakeSubvolume = VolumeWorld['pool'] extends Map<string, infer Entry> ? Entry : never

async function* sendContent(
  { content, origin }: FakeSubvolume,
  parent: FakeSubvolume | null,
  step: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  if (parent !== null && parent.origin !== origin) throw new Error('the two have nothing in common')
  await step()
  yield Buffer.from(JSON.stringify({ from: parent?.content ?? null, to: content }))
}

async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of stream) text += Buffer.from(piece).toString()
  return text
}

function createFakeRuntime(world: VolumeWorld, step: () => Promise<void>): Runtime {
  const { pool, mounts, busy, violations } = world
  const mountsOf = (boxId: string): BoxMount[] => {
    const found = mounts.get(boxId)
    if (found === undefined) throw new ServiceError('box_not_running', 'The box is not running.')
    return found
  }
  const checkMount = (boxId: string, { source, readOnly }: BoxMount): void => {
    const subvolume = pool.get(source.slice('/pool/'.length))
    if (subvolume === undefined) violations.push(`${boxId} gets ${source}, which is not there`)
    if (subvolume?.isReadOnly && !readOnly) violations.push(`${boxId} gets to write to ${source}, which is sealed`)
    const writers = [...mounts].filter(([, all]) => all.some((each) => each.source === source && !each.readOnly))
    if (!readOnly && writers.length > 0) violations.push(`${boxId} writes to ${source}, and so does ${writers[0]?.[0]}`)
  }
  const runtime: Partial<Runtime> = {
    list: async () => [...mounts.keys()].map((id) => ({ id, isRunning: true, pid: 1 })),
    onExit: () => undefined,
    onRecovery: () => undefined,
    checkReady: async () => undefined,
    start: async ({ id, mounts: wanted }) => {
      await step()
      for (const mount of wanted) checkMount(id, mount)
      mounts.set(id, [...wanted])
      return { id, isRunning: true, pid: 1 }
    },
    stop: async (id) => {
      await (world.wedged.get(id) ?? step())
      mounts.delete(id)
    },
    mounts: async (id) => mounts.get(id) ?? [],
    attach: async (id, mount) => {
      await step()
      const present = mountsOf(id).find(({ source }) => source === mount.source)
      if (present === undefined) {
        checkMount(id, mount)
        mountsOf(id).push(mount)
      }
    },
    detach: async (id, source) => {
      await step()
      const all = mountsOf(id)
      if (!all.some((each) => each.source === source)) return
      if (busy.has(id)) throw new ServiceError('volume_busy', 'Processes of the box use the volume: 7 (sleep).')
      mounts.set(
        id,
        all.filter((each) => each.source !== source),
      )
    },
    resize: async () => undefined,
  }
  return runtime as Runtime
}

const LIMITS = {
  startsAtOnce: 4,
  startDeadlineMs: 20_000,
  stopSlackMs: 20_000,
  pidsPerBox: 10,
  allowsNesting: false,
  networkMbps: null,
  diskMbps: null,
  diskIops: null,
}
const GIB = 1024 ** 3
