import { createKeyedLock } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import { ANNOTATION_INSTANCE, LABEL_PROJECT, policyName, projectPolicy } from './spec.ts'

export interface ProjectPoliciesOptions {
  api: { networkPolicies: KubeApi['networkPolicies'] }
  instanceId: string
  /** Returns true while a box of the project has a pod, or is about to get one. */
  isUsed(project: string): boolean
  logger: Logger
}

/**
 * The NetworkPolicies of projects. A project without boxes keeps its policy, so that its next box starts sooner. Deletes the oldest of
 * these beyond `UNUSED_MAX`. A token for all projects can name any number of projects, and network plugins evaluate every policy of a
 * namespace.
 */
export class ProjectPolicies {
  readonly #options: ProjectPoliciesOptions
  readonly #lock = createKeyedLock()
  /** Projects whose policy this process has applied. */
  readonly #applied = new Set<string>()
  /** Projects that have a policy in the cluster, in the order in which they got it. */
  readonly #known = new Set<string>()
  #isListed = false

  constructor(options: ProjectPoliciesOptions) {
    this.#options = options
  }

  /** Creates the policy of a project, if this process has not. `isUsed` must be true by then. */
  async ensure(project: string): Promise<void> {
    const { api, instanceId, logger } = this.#options
    await this.#lock.run(project, async () => {
      if (this.#applied.has(project)) return
      await api.networkPolicies.apply(projectPolicy(project, instanceId))
      this.#applied.add(project)
      this.#known.add(project)
    })
    this.#sweep().catch((error: unknown) =>
      logger.warn('failed to delete policies of projects without boxes', { error }),
    )
  }

  async #sweep(): Promise<void> {
    const { api, instanceId, isUsed } = this.#options
    if (!this.#isListed) {
      this.#isListed = true
      for (const { metadata } of await api.networkPolicies.list(`${ANNOTATION_INSTANCE}=${instanceId}`))
        this.#known.add(metadata?.labels?.[LABEL_PROJECT] ?? '')
    }
    const unused = [...this.#known].filter((project) => !isUsed(project))
    for (const project of unused.slice(0, Math.max(0, unused.length - UNUSED_MAX)))
      await this.#lock.run(project, async () => {
        if (isUsed(project) || !this.#known.delete(project)) return
        this.#applied.delete(project)
        await api.networkPolicies.delete(policyName(project, instanceId))
      })
  }
}

const UNUSED_MAX = 50
