import { ServiceError } from '../../../shared/errors.ts'
import { createLimiter } from '../../../shared/locks.ts'
import { quotaExceeded } from '../../../shared/refusals.ts'
import type { DiskCapacity, HostFacts } from '../../ports/host/facts.ts'
import type { Store } from '../../ports/store/store.ts'
import type { QuotaRecord, RecordUsage, Usage } from '../../ports/store/volumes.ts'

export interface AdmissionDeps {
  store: Store
  host: HostFacts
  limits: AdmissionLimits
  /** Quota of projects that have none of their own. */
  defaultQuota: Bounds
  /** Bytes of the records of all boxes and services. Defaults to `RECORD_BYTES`. */
  recordBytes?: number
}

export interface AdmissionLimits {
  boxesMax: number
  volumesMax: number
  /** Maximum memory of all running boxes, as a multiple of the host's memory. */
  memoryOvercommit: number
  /** Bytes of memory that must be available on the host for a box to start. */
  memoryReserveBytes: number
}

/** Bounds of a project. Null for unlimited. */
export type Bounds = Omit<QuotaRecord, 'version' | 'updatedAt'>

/** A growth in resources. Those left out are 0. */
export interface ResourceRequest extends Partial<Usage> {
  project: string
  /** Bytes by which records of boxes and services get longer. See `recordGrowth`. */
  recordBytes?: number
}

/** Admits growth that fits the quota of its project, the host, and the project's share of the records. */
export interface Admission {
  /** @throws ServiceError `quota_exceeded` with numbers, or `runtime_unavailable` while the host is short of memory */
  check(request: ResourceRequest): Promise<void>
  /** Checks, then runs `write`, which records the growth. Serialized, so that no two requests are admitted to the same room. */
  admit<T>(request: ResourceRequest, write: () => Promise<T>): Promise<T>
}

/** Bytes of the records of all boxes and services, far less than the heap of the agent. */
export const RECORD_BYTES = 64 * 1024 ** 2

/** The quota without a bound. */
export const UNLIMITED_QUOTA: Bounds = { boxes: null, cpus: null, ramMb: null, storageGb: null }

/** Admits by the sums of the stored records, and by the memory available on the host at the call. */
export function createAdmission(deps: AdmissionDeps): Admission {
  const { store, recordBytes = RECORD_BYTES } = deps
  const turns = createLimiter(1)
  const check = async (request: ResourceRequest): Promise<void> => {
    if ((request.recordBytes ?? 0) > 0)
      checkRecords(request, await store.quotas.recordBytes(request.project), recordBytes)
    if (!REQUEST_KEYS.some((key) => (request[key] ?? 0) > 0)) return
    const quota: Bounds = (await store.quotas.get(request.project)) ?? deps.defaultQuota
    if (ASPECTS.some(({ key }) => quota[key] !== null))
      checkQuota(request, quota, await store.quotas.usage(request.project))
    if (!HOST_KEYS.some((key) => (request[key] ?? 0) > 0)) return
    checkHost(deps, request, await store.quotas.usage(null))
  }
  return {
    check,
    admit: (request, write) =>
      turns.run(async () => {
        await check(request)
        return write()
      }),
  }
}

/** Measures what boxes may still be promised on this host. */
export async function measureFree({
  store,
  host,
  limits,
  filesystem,
}: Pick<AdmissionDeps, 'store' | 'host' | 'limits'> & {
  filesystem: { capacity(): Promise<DiskCapacity> }
}): Promise<{ cpus: number; ramMb: number; storageBytes: number }> {
  const used = await store.quotas.usage(null)
  const { cpu, memory } = host.load()
  return {
    cpus: Math.max(0, cpu.cores - used.cpus),
    ramMb: Math.max(0, promisableMb(memory.total_bytes, limits) - used.ramMb),
    storageBytes: Math.max(0, (await filesystem.capacity()).availableBytes),
  }
}

function promisableMb(totalBytes: number, { memoryOvercommit }: AdmissionLimits): number {
  return Math.floor((totalBytes * memoryOvercommit) / MIB)
}

function checkQuota(request: ResourceRequest, quota: Bounds, used: Usage): void {
  for (const { key, unit, field, wayOut } of ASPECTS) {
    const [allowed, requested] = [quota[key], request[key] ?? 0]
    if (allowed === null || requested <= 0 || used[key] + requested <= allowed * (1 + ROUNDING)) continue
    const figures = `${amount(used[key])} of ${amount(allowed)} ${unit} are in use, ${amount(requested)} more ${requested === 1 ? 'was' : 'were'} asked for`
    const why = `\`${field}\`: the quota of project "${request.project}" is exceeded: ${figures}.`
    throw quotaExceeded(
      why,
      `${wayOut}, or have an administrator raise the quota (\`PUT /v1/projects/{project}/quota\`).`,
    )
  }
}

// As `FairShares.take`: no project holds more than is left free.
function checkRecords(
  { project, recordBytes: growth = 0 }: ResourceRequest,
  { own, all }: RecordUsage,
  most: number,
): void {
  if (own + growth <= most - all - growth) return
  const figures = `those of project "${project}" take up ${own} bytes and ${Math.max(most - all, 0)} are left`
  const why = `The records of boxes and services would be too long: ${figures}.`
  throw quotaExceeded(why, 'Shorten environments and commands, or delete services and boxes.')
}

function checkHost({ host, limits }: AdmissionDeps, request: ResourceRequest, used: Usage): void {
  for (const [what, max] of [['boxes', limits.boxesMax] as const, ['volumes', limits.volumesMax] as const]) {
    const requested = request[what] ?? 0
    if (requested === 0 || used[what] + requested <= max) continue
    const why = `This deployment holds ${used[what]} of at most ${max} ${what}.`
    throw quotaExceeded(why, `Delete one, or have the operator raise BOXYARD_${what.toUpperCase()}_MAX.`)
  }
  const requested = request.ramMb ?? 0
  if (requested === 0) return
  const { total_bytes: total, available_bytes: available } = host.load().memory
  const promisable = promisableMb(total, limits)
  if (used.ramMb + requested > promisable) {
    const figures = `${used.ramMb} of ${promisable} MiB are promised to running boxes, ${requested} MiB more were asked for`
    const wayOut = 'Ask for less `ram_mb`, stop a box, or have the operator raise BOXYARD_MEMORY_OVERCOMMIT.'
    throw quotaExceeded(`\`ram_mb\`: the memory of this host is committed: ${figures}.`, wayOut)
  }
  if (available < limits.memoryReserveBytes) {
    const figures = `${mib(available)} MiB are available, and a start needs ${mib(limits.memoryReserveBytes)} MiB`
    throw new ServiceError('runtime_unavailable', `This host is short of memory: ${figures}.`)
  }
}

function amount(value: number): string {
  return String(Math.round(value * 1000) / 1000)
}

function mib(bytes: number): number {
  return Math.floor(bytes / MIB)
}

const ASPECTS = [
  { key: 'boxes', unit: 'boxes', field: 'boxes', wayOut: 'Delete a box' },
  { key: 'cpus', unit: 'cpus', field: 'cpus', wayOut: 'Stop a box, ask for less' },
  { key: 'ramMb', unit: 'MiB of memory', field: 'ram_mb', wayOut: 'Stop a box, ask for less' },
  { key: 'storageGb', unit: 'GiB of storage', field: 'storage_gb', wayOut: 'Delete boxes or volumes, ask for less' },
] as const
const REQUEST_KEYS = ['boxes', 'volumes', 'cpus', 'ramMb', 'storageGb'] as const
const HOST_KEYS = ['boxes', 'volumes', 'ramMb'] as const
const MIB = 1024 ** 2
// Fractions are added as floating point numbers.
const ROUNDING = 1e-9
