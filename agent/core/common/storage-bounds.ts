import { ServiceError } from '../../../shared/errors.ts'
import { createKeyedLock, type KeyedLock } from '../../../shared/locks.ts'
import { quotaExceeded, refusal } from '../../../shared/refusals.ts'
import type { StorageAccounts } from '../../ports/pool/accounts.ts'
import type { QuotaStore } from '../../ports/store/volumes.ts'
import type { Bounds } from './admission.ts'
import { bytesOf } from './sizes.ts'

export interface StorageBoundsDeps {
  store: { quotas: Pick<QuotaStore, 'get' | 'list'> }
  accounts: StorageAccounts
  /** Quota of projects without one of their own. */
  defaultQuota: Pick<Bounds, 'storageGb'>
}

/**
 * Limits the storage of projects to `storage_gb` of their quota. While the pool is short of space, limits it to their current usage. The
 * kernel enforces the limits, so that no two writers can race for the same space. This class sets and explains them.
 */
export class StorageBounds {
  readonly #deps: StorageBoundsDeps
  /** Limits of the projects that cannot grow, in bytes. */
  readonly #held = new Map<string, number>()
  /** Limits that were set, in bytes. Null for removed ones. */
  readonly #set = new Map<string, number | null>()
  readonly #turns: KeyedLock = createKeyedLock()

  constructor(deps: StorageBoundsDeps) {
    this.#deps = deps
  }

  /** Sets the limits of all projects, because limits of an earlier agent are still in force. */
  async recover(): Promise<void> {
    const { store, accounts } = this.#deps
    const projects = new Set((await accounts.all()).keys())
    for (let after: string | null = null; ; ) {
      const { records, hasMore } = await store.quotas.list({ projects: '*', prefix: '', after, limit: PAGE })
      for (const { project } of records) projects.add(project)
      after = records.at(-1)?.project ?? null
      if (!hasMore || after === null) break
    }
    for (const project of projects) await this.apply(project)
  }

  /** Sets the limit of a project by its current quota. */
  async apply(project: string): Promise<void> {
    const { store, accounts, defaultQuota } = this.#deps
    await this.#turns.run(project, async () => {
      const { storageGb } = (await store.quotas.get(project)) ?? defaultQuota
      const quotaBytes = storageGb === null ? Number.POSITIVE_INFINITY : bytesOf(storageGb)
      const least = Math.min(quotaBytes, this.#held.get(project) ?? Number.POSITIVE_INFINITY)
      const bytes = least === Number.POSITIVE_INFINITY ? null : least
      if (this.#set.get(project) === bytes) return
      await accounts.limit(project, bytes)
      this.#set.set(project, bytes)
    })
  }

  /** Limits a project to this many bytes. With null, its quota is the only limit again. */
  async hold(project: string, bytes: number | null): Promise<void> {
    if (bytes === null) this.#held.delete(project)
    else this.#held.set(project, bytes)
    await this.apply(project)
  }

  /** Returns the limits of the projects that cannot grow. */
  held(): ReadonlyMap<string, number> {
    return this.#held
  }

  /**
   * Checks that a project can keep one more resource, and puts its limit in force.
   * @throws ServiceError `quota_exceeded`, or `storage_full` while the project cannot grow, with sizes and what to delete
   */
  async checkRoom(project: string): Promise<void> {
    await this.apply(project)
    if ((await this.#fault(project, THING_BYTES)) === null) return
    // The space of recently deleted data may not be free yet.
    await this.#deps.accounts.settle()
    const fault = await this.#fault(project, THING_BYTES)
    if (fault !== null) throw fault
  }

  /**
   * Runs `work` that writes for a project. Null for the deployment, which has no limit. Call it where written data is still there when
   * `work` fails.
   * @throws the errors of `work`. Replaces its `storage_full` by the reason from `checkRoom` if the project is at its limit
   */
  async explaining<T>(project: string | null, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (project === null || !(error instanceof ServiceError) || error.code !== 'storage_full') throw error
      throw (await this.#fault(project, NEAR_BYTES, error)) ?? error
    }
  }

  async #fault(project: string, roomBytes: number, cause?: unknown): Promise<ServiceError | null> {
    const most = this.#set.get(project) ?? null
    if (most === null) return null
    const used = await this.#deps.accounts.usedBytes(project)
    if (used + Math.min(roomBytes, most / 2) < most) return null
    const held = this.#held.get(project)
    const kept = `The project "${project}" keeps ${gib(used)} GiB in boxes, volumes, snapshots, bases and what these share with deleted ones`
    if (held !== undefined && held <= most) {
      const why = 'the storage of this host is nearly full, so projects with much of it cannot grow'
      return refusal('storage_full', [`${kept}; ${why}.`, `${REMEDY}.`], { cause })
    }
    const why = `\`storage_gb\`: ${kept}; its quota allows ${gib(most)} GiB.`
    return quotaExceeded(why, `${REMEDY}, or ask an administrator to raise its quota.`, cause)
  }
}

function gib(bytes: number): string {
  return String(Math.round((bytes / 1024 ** 3) * 1000) / 1000)
}

const REMEDY = 'Delete snapshots, bases, volumes or boxes of the project (their space is free some seconds later)'
const PAGE = 1000
/** Minimum size of a resource. With less space left, the kernel refuses the first write to it. */
const THING_BYTES = 1024 ** 2
/** Size that a failed write may have requested in one call. */
const NEAR_BYTES = 4 * 1024 ** 2
