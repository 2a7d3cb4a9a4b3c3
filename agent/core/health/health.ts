import type { Logger } from '../../../shared/log.ts'
import type { BoxStatus } from '../../../shared/schemas/boxes.ts'
import type { Health, HealthFault } from '../../../shared/schemas/health.ts'
import type { ClusterFacts, ClusterReport } from '../../ports/boxes/cluster-facts.ts'
import type { HostNetwork } from '../../ports/boxes/network.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { Edge } from '../../ports/edge/edge.ts'
import type { DiskCapacity, HostFacts } from '../../ports/host/facts.ts'
import type { PoolCondition } from '../../ports/pool/condition.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'

export interface HealthDeps {
  store: Store
  filesystem: CowFilesystem
  network: HostNetwork
  runtime: Pick<Runtime, 'problems'>
  edge: Pick<Edge, 'problems'>
  cluster: ClusterFacts
  reconciler: Reconciler
  /** Faults that separate this cell from its fleet. */
  fleet: { problems(): HealthFault[] }
  host: HostFacts
  logger: Logger
  dataDir: string
  isDraining(): boolean
  /** Faults found at start that persist, such as subvolumes without a record. */
  standingFaults: readonly HealthFault[]
}

/** The state of this host. Null where a figure could not be read. */
export interface HealthReport {
  status: Health['status']
  faults: readonly HealthFault[]
  boxes: Record<BoxStatus, number> | null
  load: ReturnType<HostFacts['load']>
  disk: DiskCapacity | null
  pool: DiskCapacity | null
  cluster: ClusterReport | null
}

/** Measures the health report. Never rejects: a failed measurement is a fault in the report. */
export async function reportHealth(deps: HealthDeps): Promise<HealthReport> {
  const faults: HealthFault[] = [...deps.standingFaults]
  const measure = createMeasure(faults, deps.logger)
  const boxes = await measure('store_unreadable', () => deps.store.boxes.countByStatus())
  const pool = await measure('pool_unreadable', () => deps.filesystem.capacity())
  const condition = await measure('pool_unreadable', () => deps.filesystem.condition())
  const disk = await measure('disk_unreadable', () => deps.host.storage(deps.dataDir))
  const network = await measure('network_unreadable', () => deps.network.problems())
  const cluster = await measure('cluster_unreadable', () => deps.cluster.report())
  faults.push(...(cluster?.problems ?? []).map((problem) => ({ ...problem })))
  const edge = await measure('edge_unreadable', () => deps.edge.problems())
  const runtime = await measure('runtime_unreadable', () => deps.runtime.problems())
  faults.push(...[...(network ?? []), ...(edge ?? []), ...(runtime ?? [])].map((problem) => ({ ...problem })))
  faults.push(...deps.fleet.problems())
  faults.push(...(condition ? poolFaults(condition) : []))
  faults.push(...storageFaults(pool, disk), ...tombstoneFaults(deps.reconciler))
  const unstarted = await measure('store_unreadable', () => unstartedBoxes(deps))
  faults.push(...startFaults(unstarted ?? []), ...unknownFaults((boxes?.unknown ?? 0) - (unstarted ?? []).length))
  if (deps.isDraining()) {
    faults.push({
      code: 'draining',
      evidence: 'The agent is shutting down.',
      remedy: 'Start it again. Boxes keep running.',
    })
  }
  const status = deps.isDraining() || !boxes ? 'unavailable' : faults.length > 0 ? 'degraded' : 'ok'
  return { status, faults, boxes, load: deps.host.load(), disk, pool, cluster }
}

function createMeasure(faults: HealthFault[], logger: Logger) {
  return async <T>(code: string, read: () => Promise<T>): Promise<T | null> => {
    try {
      return await read()
    } catch (error) {
      logger.error('failed to read a part of the health report', { code, error })
      faults.push({
        code,
        evidence: 'A part of the health report is not readable.',
        remedy: "Find the cause in the agent's log.",
      })
      return null
    }
  }
}

/** Turns the condition of a pool into faults of the health report. */
function poolFaults({ deviceErrors, scrub, isReadOnly, backing }: PoolCondition): HealthFault[] {
  const faults: HealthFault[] = []
  if (isReadOnly) {
    faults.push({
      code: 'pool_read_only',
      evidence: 'A write to the disk of the pool failed. The pool is now read-only.',
      remedy:
        "Fix the disk error in the host's kernel log, or free space on the disk. Then stop the service, run `boxyard admin down` (in a checkout: `npm run down`), which stops the boxes, and start it again.",
    })
  }
  if (backing.missingBytes > Math.max(0, backing.availableBytes)) {
    faults.push({
      code: 'pool_not_backed',
      evidence: `The pool's image lacks ${mib(backing.missingBytes)} of its blocks, but its disk has only ${mib(backing.availableBytes)} for them. When they run out, the pool becomes read-only.`,
      remedy: 'Free space on the disk of the image. The image then allocates its blocks automatically.',
    })
  }
  const counted = Object.entries(deviceErrors).filter(([, count]) => count > 0)
  if (counted.length > 0) {
    faults.push({
      code: 'storage_errors',
      evidence: `The disk of the pool has errors: ${counted.map(([what, count]) => `${what} ${count}`).join(', ')}.`,
      remedy:
        'Check the disk, run a scrub (POST /v1/storage/scrub), and restore damaged files. A scrub without errors resets the count.',
    })
  }
  if (scrub !== null && scrub.errors > 0) {
    faults.push({
      code: 'scrub_errors',
      evidence: `The last scrub found ${scrub.errors} errors in ${scrub.checkedBytes} bytes.`,
      remedy: "The host's kernel log names the files. Restore them from snapshots or backups, then run another scrub.",
    })
  }
  if (scrub?.status === 'failed') {
    faults.push({
      code: 'scrub_failed',
      evidence: 'The last scrub failed.',
      remedy: 'Install btrfs-progs if it is missing, and start another scrub (POST /v1/storage/scrub).',
    })
  }
  return faults
}

function storageFaults(pool: DiskCapacity | null, disk: DiskCapacity | null): HealthFault[] {
  const faults: HealthFault[] = []
  if (pool && pool.availableBytes < lowBytes(pool)) {
    faults.push({
      code: 'pool_full',
      evidence: `The storage pool has ${mib(pool.availableBytes)} of ${mib(pool.totalBytes)} left.`,
      remedy: 'Delete boxes, or enlarge the disk of the data directory. The pool then grows automatically.',
    })
  }
  if (disk && disk.availableBytes < lowBytes(disk)) {
    faults.push({
      code: 'disk_full',
      evidence: `The disk of the data directory has ${mib(disk.availableBytes)} left.`,
      remedy: 'Free space on that disk. The service needs it to write its state.',
    })
  }
  return faults
}

function tombstoneFaults(reconciler: Reconciler): HealthFault[] {
  const stuck = reconciler.stuckTombstones()
  if (stuck.length === 0) return []
  const ids = stuck.slice(0, 5).map(({ id }) => id)
  return [
    {
      code: 'remains_not_destroyed',
      evidence: `${stuck.length} deleted boxes still hold space: ${ids.join(', ')}.`,
      remedy: "The agent retries automatically. Find the cause in its log under the box's id.",
    },
  ]
}

/** Lists the boxes that should run and whose start is tried again, each with why it failed last. */
async function unstartedBoxes({ reconciler, store }: HealthDeps): Promise<string[]> {
  const found: string[] = []
  for (const [id, why] of reconciler.failedStarts()) {
    const record = await store.boxes.byId(id)
    if (record?.observed.status === 'unknown') found.push(`${record.project}/${record.name} (${why})`)
  }
  return found
}

function startFaults(boxes: readonly string[]): HealthFault[] {
  if (boxes.length === 0) return []
  const more = boxes.length > SHOWN_BOXES ? `, and ${boxes.length - SHOWN_BOXES} more` : ''
  return [
    {
      code: 'box_start_failed',
      evidence: `These boxes should run but failed to start: ${boxes.slice(0, SHOWN_BOXES).join(', ')}${more}.`,
      remedy: "The agent retries each at least once a minute. Find the cause in its log under the box's id.",
    },
  ]
}

function lowBytes({ totalBytes }: DiskCapacity): number {
  return Math.min(LOW_BYTES, totalBytes / 10)
}

function unknownFaults(count: number): HealthFault[] {
  if (count <= 0) return []
  const evidence = `The container runtime does not answer for ${count} boxes.`
  return [{ code: 'boxes_unknown', evidence, remedy: 'The agent retries automatically. Find the cause in its log.' }]
}

function mib(bytes: number): string {
  return `${Math.floor(bytes / 1024 ** 2)} MiB`
}

const LOW_BYTES = 256 * 1024 ** 2
const SHOWN_BOXES = 20
