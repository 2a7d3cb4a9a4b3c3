import { setImmediate } from 'node:timers/promises'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { DiskCapacity } from '../../ports/host/facts.ts'
import type { Meter, Sample } from '../../ports/host/meter.ts'
import type { StorageAccounts } from '../../ports/pool/accounts.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { stateOf } from '../services/state.ts'
import type { ServiceSupervisor } from '../services/supervisor.ts'

export interface StateMetricsDeps {
  store: Store
  runtime: Pick<Runtime, 'pausedSeconds' | 'oomKills'>
  filesystem: CowFilesystem
  accounts: Pick<StorageAccounts, 'all'>
  reconciler: Reconciler
  supervisor: ServiceSupervisor
}

/** Exports gauges of boxes, services, storage and pending work. */
export function meterState(meter: Meter, deps: StateMetricsDeps): void {
  const { store, runtime, filesystem, accounts, reconciler, supervisor } = deps
  meter.observable('gauge', BOXES, async () => byLabel('status', Object.entries(await store.boxes.countByStatus())))
  meter.observable('gauge', SERVICES, async () => byLabel('state', [...(await countServices(store, supervisor))]))
  meter.observable('gauge', QUEUE, () => byLabel('state', Object.entries(reconciler.queued())))
  const single = (figure: { name: string; help: string }, read: () => Promise<number>): void =>
    meter.observable('gauge', { ...figure, labels: [] }, async () => [{ labels: {}, value: await read() }])
  const pool = (name: string, help: string, field: keyof Omit<DiskCapacity, 'path'>): void =>
    single({ name: `boxyard_pool_${name}_bytes`, help }, async () => (await filesystem.capacity())[field])
  pool('size', 'Size of the storage pool.', 'totalBytes')
  pool('used', 'Used bytes of the storage pool.', 'usedBytes')
  pool('available', 'Available bytes of the storage pool.', 'availableBytes')
  single(STORED, async () => [...(await accounts.all()).values()].reduce((sum, bytes) => sum + bytes, 0))
  single(SUBVOLUMES, async () => (await filesystem.list()).length)
  single(TOMBSTONES, async () => (await store.tombstones.all()).length)
  meter.observable('counter', EVENTS, async () => [{ labels: {}, value: (await store.events.bounds()).newest }])
  meter.observable('counter', PAUSED, () => [{ labels: {}, value: runtime.pausedSeconds() }])
  meter.observable('counter', OOM_KILLS, () => [{ labels: {}, value: runtime.oomKills() }])
  single(STUCK, async () => reconciler.stuckTombstones().length)
  single(UNSTARTED, async () => reconciler.failedStarts().size)
}

async function countServices(store: Store, supervisor: ServiceSupervisor): Promise<Map<string, number>> {
  const counts = new Map(SERVICE_STATES.map((state) => [state as string, 0]))
  for (const [index, key] of (await store.services.keys()).entries()) {
    // Thousands of services take a while, in which others are to have their turn.
    if (index % SERVICES_IN_A_ROW === SERVICES_IN_A_ROW - 1) await setImmediate()
    const service = await supervisor.observe(key)
    if (service === null) continue
    const { state } = stateOf(service)
    counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  return counts
}

function byLabel<L extends string>(label: L, counts: readonly [string, number][]): Sample<L>[] {
  return counts.map(([name, value]) => ({ labels: { [label]: name } as Record<L, string>, value }))
}

const SERVICES_IN_A_ROW = 64
const SERVICE_STATES = ['stopped', 'starting', 'running', 'stopping', 'failed'] as const
const BOXES = { name: 'boxyard_boxes', help: 'Boxes, by status.', labels: ['status'] } as const
const SERVICES = { name: 'boxyard_services', help: 'Services, by state.', labels: ['state'] } as const
const QUEUE = {
  name: 'boxyard_reconcile_queue',
  help: 'Boxes with a running step (running), a due step (waiting), or a retry after a failure (later).',
  labels: ['state'],
} as const
const EVENTS = {
  name: 'boxyard_events_total',
  help: 'Events written by all agents of this data directory.',
  labels: [],
} as const
const PAUSED = {
  name: 'boxyard_boxes_paused_seconds_total',
  help: 'Total time that boxes were paused because they exceeded their disk limits.',
  labels: [],
} as const
const OOM_KILLS = {
  name: 'boxyard_oom_kills_total',
  help: 'Processes that the kernel killed because the memory of their box was full.',
  labels: [],
} as const
const STORED = {
  name: 'boxyard_projects_stored_bytes',
  help: 'Storage of all projects, as their quotas count it.',
}
const SUBVOLUMES = { name: 'boxyard_subvolumes', help: 'Subvolumes in the pool: roots, volumes, snapshots, bases.' }
const TOMBSTONES = { name: 'boxyard_tombstones', help: 'Deleted resources whose space is not free yet.' }
const STUCK = { name: 'boxyard_tombstones_stuck', help: 'Deleted resources whose removal failed at least once.' }
const UNSTARTED = {
  name: 'boxyard_boxes_failed_to_start',
  help: 'Boxes that should run, but failed to start. The agent retries.',
}
