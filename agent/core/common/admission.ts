import { ServiceError } from '../../../shared/errors.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { HostFacts } from '../../ports/host/facts.ts'
import type { Store } from '../../ports/store/store.ts'
import type { QuotaRecord, Usage } from '../../ports/store/volumes.ts'

export interface AdmissionDeps {
  store: Store
  host: HostFacts
  limits: AdmissionLimits
}

export interface AdmissionLimits {
  boxesMax: number
  volumesMax: number
  /** How many times the host's memory all boxes that run may have been promised together. */
  memoryOvercommit: number
  /** Bytes of memory that must be available for a box to start. */
  memoryReserveBytes: number
}

/** What is asked for beyond what is held; what is not named is 0. */
export interface ResourceRequest extends Partial<Usage> {
  project: string
}

/** Says what still has room, in the quota of its project and on the host. */
export interface Admission {
  /**
   * @throws ServiceError `quota_exceeded` with figures, or `runtime_unavailable` while the host is short of memory
   */
  check(wish: ResourceRequest): Promise<void>
  /** Checks and runs `write`, which records what was wished; one after another, so that none takes another's room. */
  admit<T>(wish: ResourceRequest, write: () => Promise<T>): Promise<T>
}

/** Admission by the sums of the stored records, and by the memory the host has at the call. */
export function createAdmission(deps: AdmissionDeps): Admission {
  const turns = createLimiter(1)
  const check = async (wish: ResourceRequest): Promise<void> => {
    if (!ASKED.some((key) => (wish[key] ?? 0) > 0)) return
    const quota = await deps.store.quotas.get(wish.project)
    if (quota) checkQuota(wish, quota, await deps.store.quotas.usage(wish.project))
    if (!ASKED_OF_HOST.some((key) => (wish[key] ?? 0) > 0)) return
    checkHost(deps, wish, await deps.store.quotas.usage(null))
  }
  return {
    check,
    admit: (wish, write) =>
      turns.run(async () => {
        await check(wish)
        return write()
      }),
  }
}

function checkQuota(wish: ResourceRequest, quota: QuotaRecord, used: Usage): void {
  for (const { key, unit } of ASPECTS) {
    const [allowed, asked] = [quota[key], wish[key] ?? 0]
    if (allowed === null || asked <= 0 || used[key] + asked <= allowed * (1 + ROUNDING)) continue
    const figures = `${amount(used[key])} of ${amount(allowed)} ${unit} are in use, ${amount(asked)} more were asked for`
    throw new ServiceError('quota_exceeded', `The quota of project "${wish.project}" is exceeded: ${figures}.`)
  }
}

function checkHost({ host, limits }: AdmissionDeps, wish: ResourceRequest, used: Usage): void {
  for (const [what, most] of [['boxes', limits.boxesMax] as const, ['volumes', limits.volumesMax] as const]) {
    const asked = wish[what] ?? 0
    if (asked === 0 || used[what] + asked <= most) continue
    throw new ServiceError('quota_exceeded', `This deployment holds ${used[what]} of at most ${most} ${what}.`)
  }
  const asked = wish.ramMb ?? 0
  if (asked === 0) return
  const { total_bytes: total, available_bytes: available } = host.load().memory
  const promisable = Math.floor((total * limits.memoryOvercommit) / MIB)
  if (used.ramMb + asked > promisable) {
    const figures = `${used.ramMb} of ${promisable} MiB are promised to running boxes, ${asked} MiB more were asked for`
    throw new ServiceError('quota_exceeded', `The memory of this host is promised: ${figures}.`)
  }
  if (available < limits.memoryReserveBytes) {
    const figures = `${mib(available)} MiB are available, ${mib(limits.memoryReserveBytes)} MiB must be for a box to start`
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
  { key: 'boxes', unit: 'boxes' },
  { key: 'cpus', unit: 'cpus' },
  { key: 'ramMb', unit: 'MiB of memory' },
  { key: 'storageGb', unit: 'GiB of storage' },
] as const
const ASKED = ['boxes', 'volumes', 'cpus', 'ramMb', 'storageGb'] as const
const ASKED_OF_HOST = ['boxes', 'volumes', 'ramMb'] as const
const MIB = 1024 ** 2
// Fractions are added as floating point numbers.
const ROUNDING = 1e-9
