import { createKeyedLock } from '../../../shared/locks.ts'
import type { ProjectListQuery, UpdateQuotaBody } from '../../../shared/schemas/access.ts'
import { timestamp } from '../../../shared/time.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { StorageAccounts } from '../../ports/pool/accounts.ts'
import type { Store } from '../../ports/store/store.ts'
import type { ProjectUse, QuotaRecord, Usage } from '../../ports/store/volumes.ts'
import { type Bounds, UNLIMITED_QUOTA } from '../common/admission.ts'
import type { Caller } from '../common/caller.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'
import { checkIfMatch, checkReadOnly } from '../common/preconditions.ts'
import type { StorageBounds } from '../common/storage-bounds.ts'

export interface QuotasDeps {
  store: Store
  clock: Clock
  accounts: Pick<StorageAccounts, 'usedBytes'>
  bounds: Pick<StorageBounds, 'apply'>
  defaultQuota: Bounds
  /** True where other cells have the same quota too, each with the time at which it was set there, which no body then needs to know. */
  isShared: boolean
}

/** Quotas of projects. */
export interface Quotas {
  get(project: string): Promise<QuotaState>
  /**
   * Lists the projects of the caller that have something, by name.
   * @throws ServiceError `invalid_request` for a token that no page gave
   */
  list(caller: Pick<Caller, 'projects'>, query: ProjectListQuery): Promise<ProjectPage>
  /** @throws ServiceError `precondition_failed` */
  update(project: string, body: UpdateQuotaBody, ifMatch: string | null): Promise<QuotaState>
}

/** A quota and its usage. Version 0, without a time, if it was never set. */
export interface QuotaState {
  project: string
  allowed: Bounds
  used: Usage
  /** Bytes on the project's account. */
  storedBytes: number
  updatedAt: number | null
  version: number
}

/** A project with resources, and its boxes by status. */
export interface ProjectState extends QuotaState {
  boxes: ProjectUse['boxes']
}

/** A page of projects, and the token of the next. Null on the last page. */
export interface ProjectPage {
  projects: ProjectState[]
  next: string | null
}

/** Creates quotas, `defaultQuota` unless set. Lowering one does not take away what is in use. */
export function createQuotas({ store, clock, accounts, bounds, defaultQuota, isShared }: QuotasDeps): Quotas {
  const partsOf = (record: QuotaRecord | null): Omit<QuotaState, 'project' | 'used' | 'storedBytes'> => {
    const { updatedAt = null, version = 0 } = record ?? {}
    return { allowed: record ?? defaultQuota, updatedAt, version }
  }
  const stateOf = async (project: string, record: QuotaRecord | null): Promise<QuotaState> => {
    const storedBytes = await accounts.usedBytes(project)
    return { project, used: await store.quotas.usage(project), storedBytes, ...partsOf(record) }
  }
  const updates = createKeyedLock()
  return {
    get: async (project) => stateOf(project, await store.quotas.get(project)),
    list: async ({ projects: within }, { prefix = '', max_results: limit, continuation_token: token }) => {
      const after = decodeCursor(token, 1)?.[0] ?? null
      const { records, hasMore } = await store.quotas.list({ projects: within, prefix, after, limit })
      const stateOfUse = async ({ quota, ...rest }: ProjectUse): Promise<ProjectState> => {
        return { ...rest, storedBytes: await accounts.usedBytes(rest.project), ...partsOf(quota) }
      }
      const projects = await Promise.all(records.map(stateOfUse))
      const last = projects.at(-1)
      return { projects, next: hasMore && last ? encodeCursor([last.project]) : null }
    },
    update: (project, body, ifMatch) =>
      updates.run(project, async () => {
        const before = await store.quotas.get(project)
        const version = before?.version ?? 0
        checkIfMatch(ifMatch, version)
        const readOnly = { project, ...(isShared ? {} : { updated_at: before && timestamp(before.updatedAt) }) }
        checkReadOnly(readOnly, body, Object.keys(readOnly))
        const allowed = changedBounds(before ?? defaultQuota, body.allowed)
        const record = { ...allowed, version: version + 1, updatedAt: clock.now() }
        await store.quotas.set(project, record)
        await bounds.apply(project)
        return stateOf(project, record)
      }),
  }
}

function changedBounds(now: Bounds, changes: UpdateQuotaBody['allowed']): Bounds {
  if (changes === null) return UNLIMITED_QUOTA
  const { boxes, cpus, ram_mb: ramMb, storage_gb: storageGb } = changes ?? {}
  return {
    boxes: boxes === undefined ? now.boxes : boxes,
    cpus: cpus === undefined ? now.cpus : cpus,
    ramMb: ramMb === undefined ? now.ramMb : ramMb,
    storageGb: storageGb === undefined ? now.storageGb : storageGb,
  }
}
