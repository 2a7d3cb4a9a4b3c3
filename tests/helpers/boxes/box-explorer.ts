import { setImmediate as soon } from 'node:timers/promises'
import { type Boxes, createBoxes } from '../../../agent/core/boxes/boxes.ts'
import { createBoxRestore } from '../../../agent/core/boxes/restore.ts'
import { pendingRecord } from '../../../agent/core/reconcile/outcome.ts'
import { Reconciler, type ReconcilerDeps } from '../../../agent/core/reconcile/reconciler.ts'
import { createLocalDirectory } from '../../../agent/drivers/fleet/directory-local.ts'
import type { BoxExit } from '../../../agent/ports/boxes/runtime.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { BoxState } from '../../../shared/box-states.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { silentLogger } from '../silent-logger.ts'
import { silentMeter } from '../silent-meter.ts'
import { boxRecord } from './box-records.ts'

/** Runtime faults during one run of the agent. */
const FAULTS = ['none', 'start fails', 'runtime is away', 'end fails', 'both fail'] as const
/** How a box's first process ends after the box has settled. Null means that it keeps running. */
const EXITS = [
  null,
  { outOfMemory: false, isLost: false },
  { outOfMemory: true, isLost: false },
  { outOfMemory: false, isLost: true },
] as const
const REQUESTS = ['stop', 'resume', 'restore', 'take down', 'idle stop'] as const

/** Transitions found, as `from → to`, and pairs of status and reason, as `status/reason`. */
export interface Exploration {
  changes: Set<string>
  states: Set<string>
}

/**
 * Finds every state transition of a box. For each record ever written, it restarts the killed agent in each world and with each fault, and
 * sends each request. The real core makes every write.
 */
export async function exploreBoxes(): Promise<Exploration> {
  const changes = new Set<string>()
  const states = new Set<string>()
  const known = new Set<string>()
  const found: BoxRecord[] = [boxRecord()]
  const note = (before: BoxRecord, after: BoxRecord): void => {
    const [from, to] = [stateOf(before), stateOf(after)]
    if (from !== to) changes.add(`${from} → ${to}`)
    found.push(after)
  }
  for (let record = found.pop(); record !== undefined; record = found.pop()) {
    if (known.has(kindOf(record))) continue
    known.add(kindOf(record))
    states.add(`${record.observed.status}/${record.observed.reason}`)
    for (const request of REQUESTS) await ask(record, request, note)
    for (const isRunning of [true, false])
      for (const bootId of [BOOT, 'another'])
        for (const fault of FAULTS)
          for (const exit of EXITS) await run(record, { isRunning, bootId, fault, exit }, note)
  }
  return { changes, states }
}

type Note = (before: BoxRecord, after: BoxRecord) => void

interface World {
  isRunning: boolean
  bootId: string
  fault: (typeof FAULTS)[number]
  exit: Omit<BoxExit, 'id'> | null
}

/** Returns the state of a box as named in the transition table. */
function stateOf({ observed }: BoxRecord): BoxState {
  return observed.status === 'unknown' ? 'unknown' : observed.reason
}

/** Returns a key of the fields that the core's decisions depend on. */
function kindOf(record: BoxRecord): string {
  const { observed, desired, restore } = record
  const isSettled = observed.generation === desired.generation
  return [stateOf(record), desired.power, desired.cause, isSettled, restore !== null, observed.bootId].join()
}

/** Runs an agent that adopts the box, settles it, and sees its first process end. Then kills the agent. */
async function run(record: BoxRecord, { isRunning, bootId, fault, exit }: World, note: Note): Promise<void> {
  const deps = fakeDeps(record, note)
  const isStartBad = fault === 'start fails' || fault === 'both fail'
  const isEndBad = fault === 'end fails' || fault === 'both fail'
  let reportExit: (exit: BoxExit) => void = () => undefined
  Object.assign(deps.runtime, {
    list: async () => [{ id: record.id, isRunning }],
    start: async () => {
      if (fault === 'runtime is away') throw new ServiceError('runtime_unavailable', 'Away.')
      if (isStartBad) throw new Error('no start')
    },
    stop: async () => {
      if (isEndBad) throw new Error('no end')
    },
    onExit: (listener: typeof reportExit) => {
      reportExit = listener
    },
  })
  const reconciler = new Reconciler({ ...deps, bootId })
  await reconciler.recover()
  await untilAtRest(reconciler)
  if (exit !== null) reportExit({ id: record.id, ...exit })
  await untilAtRest(reconciler)
  await reconciler.close()
}

async function untilAtRest(reconciler: Reconciler): Promise<void> {
  for (let { running } = reconciler.queued(); running > 0; { running } = reconciler.queued()) await soon()
}

/** Sends a request that returns at once. The next agent applies the desired state. */
async function ask(record: BoxRecord, request: (typeof REQUESTS)[number], note: Note): Promise<void> {
  const deps = fakeDeps(record, note)
  const reconciler = { wake: () => undefined, settled: () => deps.store.boxes.byId(record.id) }
  const admission = { admit: (_request: unknown, write: () => Promise<boolean>) => write() }
  const boxes: Boxes = createBoxes({ ...deps, reconciler, admission } as unknown as Parameters<typeof createBoxes>[0])
  const how = { waitMs: 0, ifMatch: null, idempotencyKey: null }
  const isBusy = (error: unknown): null => {
    if (error instanceof ServiceError && error.code === 'box_busy') return null
    throw error
  }
  if (request === 'stop') await boxes.stop(record, how)
  if (request === 'resume') await boxes.resume(record, how)
  if (request === 'restore') {
    const restore = createBoxRestore({ ...deps, reconciler, boxes } as unknown as Parameters<
      typeof createBoxRestore
    >[0])
    await restore.restore(record, { snapshot: 'v0' }, how).catch(isBusy)
  }
  // `npm run down` writes this for each box with running processes.
  if (request === 'idle stop' && record.observed.status === 'running' && record.desired.power === 'running') {
    const desired = { power: 'stopped' as const, generation: record.desired.generation + 1, cause: 'idle' as const }
    await deps.store.boxes.replace(pendingRecord({ ...record, desired }, 'stopping', 1))
  }
  if (request === 'take down') await deps.store.boxes.replace(pendingRecord(record, 'starting', 1))
}

/** Returns fakes for one box in memory, a filesystem with every subvolume, and a runtime without faults. */
function fakeDeps(record: BoxRecord, note: Note): ReconcilerDeps {
  let stored = record
  const write = (next: BoxRecord): boolean => {
    if (next.version !== stored.version + 1) return false
    note(stored, next)
    stored = next
    return true
  }
  const nothing = async (): Promise<unknown[]> => []
  const done = async (): Promise<void> => undefined
  return {
    store: {
      boxes: {
        ...{ get: async () => stored, byId: async () => stored, ids: async () => [stored.id] },
        each: async function* () {
          yield stored
        },
        replace: async (next: BoxRecord) => write(next),
        beginRestore: async (next: BoxRecord) => (write(next) ? 'stored' : 'changed'),
        swap: async ({ box }: { box: BoxRecord }) => (write(box) ? 'stored' : 'changed'),
      },
      volumes: { all: nothing, attachments: nothing },
      snapshots: { get: async () => ({ name: 'v0', subvolume: 'sub', data: [] }), of: nothing },
      tombstones: { all: nothing, insert: done, remove: done },
      services: { eachWithFork: async function* () {} },
    },
    directory: createLocalDirectory(),
    runtime: { checkReady: done, mounts: nothing, resize: done, onRecovery: () => undefined },
    filesystem: {
      ...{ exists: async () => true, path: (name: string) => name },
      ...{ setQuota: done, setReadOnly: done, destroy: done, snapshot: done },
    },
    outputs: { removeBox: done },
    clock: {
      now: () => 1,
      sleep: (_ms: number, signal?: AbortSignal) => new Promise((end) => signal?.addEventListener('abort', end)),
    },
    logger: silentLogger,
    meter: silentMeter,
    bootId: BOOT,
    defaults: { allowsNesting: false, config: { network_mbps: null, disk_mbps: null, disk_iops: null } },
    limits: {
      startsAtOnce: 4,
      startDeadlineMs: 60_000,
      stopSlackMs: 30_000,
      pidsPerBox: 10,
      allowsNesting: false,
      networkMbps: null,
      diskMbps: null,
      diskIops: null,
    },
  } as unknown as ReconcilerDeps
}

const BOOT = 'boot'
