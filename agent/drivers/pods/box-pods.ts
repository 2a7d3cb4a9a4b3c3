import { setTimeout as sleep } from 'node:timers/promises'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import type { PodWatch } from '../../lib/kube/watch.ts'
import type { BoxLimits, BoxSpec } from '../../ports/boxes/runtime.ts'
import { createPodLimits, type PodLimits } from './limits.ts'
import { projectPolicy } from './policy.ts'
import {
  ANNOTATION_INSTANCE,
  boxLabels,
  buildPod,
  LABEL_BOX_ID,
  LABEL_WARM,
  type PodPlan,
  type PodSettings,
  planBoxPod,
  planWarmPod,
  podLimits,
  podResources,
} from './spec.ts'
import { isTakenAway } from './state.ts'

export interface BoxPodsOptions extends Omit<PodSettings, 'namespace' | 'nodeUid'> {
  api: KubeApi
  /** Follows the pods of this instance. */
  pods: PodWatch
  logger: Logger
}

/** The pods of boxes, as the cluster's API knows them. */
export class BoxPods {
  readonly #options: BoxPodsOptions
  /** Names of the pods that were, or may have been, made for a box and are not deleted. */
  readonly #made = new Map<string, Set<string>>()
  /** Names of pods whose deletion the watch has not told yet. */
  readonly #deleted = new Set<string>()
  readonly #limits: PodLimits
  #nodeUid: string | undefined
  #checking: Promise<void> | null = null
  #allowedUntil = -Infinity
  /** Projects that have their policy. */
  readonly #policies = new Set<string>()

  constructor(options: BoxPodsOptions) {
    this.#options = options
    this.#limits = createPodLimits({
      resize: (name, limits) => {
        const containers = [{ name: 'box', resources: podResources(limits) }]
        return options.api.pods.resize(name, { spec: { containers } })
      },
      see: (name) => options.pods.all().find((pod) => isStanding(pod) && pod.metadata?.name === name) ?? null,
      logger: options.logger,
    })
  }

  /** Throws, saying why, while pods can be neither made nor removed; what was found is good for some seconds. */
  async checkReady(): Promise<void> {
    this.#checkFollowed()
    const { api } = this.#options
    if (performance.now() < this.#allowedUntil && api.faults().length === 0) return
    this.#checking ??= api.checkAllowed().finally(() => {
      this.#checking = null
    })
    await this.#checking
    this.#allowedUntil = performance.now() + ALLOWED_MS
  }

  /** The pods of a box that the watch knows. */
  of(id: string): Pod[] {
    return this.#options.pods.all().filter((pod) => boxIdOf(pod) === id)
  }

  /** Boxes that have a pod which nobody deletes. */
  boxIds(): string[] {
    const standing = this.#options.pods.all().filter(({ metadata }) => {
      return metadata?.deletionTimestamp === undefined && !this.#deleted.has(metadata?.name ?? '')
    })
    return [...new Set(standing.flatMap((pod) => boxIdOf(pod) ?? []))]
  }

  get(uid: string): Pod | null {
    return this.#options.pods.get(uid) ?? null
  }

  /** Makes the pod of a box, and first the policy of its project. */
  async create(spec: BoxSpec): Promise<Pod> {
    const { instanceId, api } = this.#options
    await this.#ensurePolicy(spec.project)
    const plan = planBoxPod(spec, instanceId)
    this.#note(spec.id, plan.name)
    return api.pods.create(await this.#build(plan))
  }

  /** Makes a pod that waits for a box. */
  async createStub(name: string): Promise<Pod> {
    const { instanceId, api } = this.#options
    return api.pods.create(await this.#build(planWarmPod(name, instanceId)))
  }

  /** Names of all pods that wait, whoever made them. */
  listStubs(): Promise<string[]> {
    const { instanceId, api } = this.#options
    return findStubs(api, instanceId)
  }

  removeStub(name: string): Promise<void> {
    return removeStub(this.#options.api, name)
  }

  /** Makes a pod that waits that of a box: from then on it is found as such, whatever comes of it. */
  async claim(name: string, spec: BoxSpec): Promise<void> {
    const { instanceId, api } = this.#options
    this.#note(spec.id, name)
    await this.#ensurePolicy(spec.project)
    const labels = { ...boxLabels(spec, instanceId), [LABEL_WARM]: null }
    await api.pods.patch(name, { metadata: { labels } })
  }

  /** Deletes the pods of a box; with `untilGone` it returns once the node has ended them. */
  async remove(id: string, { untilGone }: { untilGone: boolean }): Promise<void> {
    const { api } = this.#options
    const known = this.of(id).map(({ metadata }) => metadata?.name ?? '')
    const names = [...new Set([...known, ...(this.#made.get(id) ?? [])])]
    if (names.length === 0) return
    this.#checkFollowed()
    for (const name of names) {
      await api.pods.delete(name, { graceSeconds: 1 })
      this.#deleted.add(name)
    }
    if (untilGone) for (const name of names) await this.#untilGone(name)
    this.#made.delete(id)
  }

  /** The pod is gone for good. */
  forget({ metadata }: Pod): void {
    this.#deleted.delete(metadata?.name ?? '')
  }

  /**
   * Resolves when the limits of a box may become `limits`: nothing older is on its way to the kubelet. Throws where it would
   * have to be told, and cannot.
   */
  async beforeResize(id: string, limits: BoxLimits): Promise<void> {
    const pod = this.#standing(id)
    const known = pod === undefined ? limits : podLimits(pod)
    if (known?.cpus !== limits.cpus || known.ramMb !== limits.ramMb) this.#checkFollowed()
    await this.#limits.settled(pod?.metadata?.name ?? '')
  }

  /** Has the cluster told soon what the limits of a box are now. */
  tellLimits(id: string, limits: BoxLimits): void {
    const name = this.#standing(id)?.metadata?.name ?? this.#lastMade(id)
    if (name !== undefined) this.#limits.tell(name, limits)
  }

  /** Whether the pod that a box ran in was taken away by somebody else, as far as the watch knows; if it knows nothing, so. */
  isTaken(id: string): boolean {
    return this.#options.pods.fault() !== null || isTakenAway(this.of(id).at(-1) ?? null)
  }

  /** The same, as far as can be known. */
  async wasTaken(id: string): Promise<boolean> {
    const { api, pods } = this.#options
    const known = this.of(id).at(-1) ?? null
    if (isTakenAway(known)) return true
    try {
      // The news may be on its way still.
      return isTakenAway(await api.pods.get(known?.metadata?.name ?? ''))
    } catch {
      return pods.fault() !== null
    }
  }

  #standing(id: string): Pod | undefined {
    return this.of(id).findLast(isStanding)
  }

  // The watch may not have told of it yet.
  #lastMade(id: string): string | undefined {
    return [...(this.#made.get(id) ?? [])].at(-1)
  }

  // Who does not see the pods can neither make nor remove a box's.
  #checkFollowed(): void {
    const fault = this.#options.pods.fault()
    if (fault !== null) throw fault.error
  }

  // By its name it is found even if an answer is lost.
  #note(id: string, name: string): void {
    this.#made.set(id, (this.#made.get(id) ?? new Set()).add(name))
  }

  async #build(plan: PodPlan): Promise<Pod> {
    this.#nodeUid ??= await this.#findNode()
    return buildPod(plan, { ...this.#options, namespace: this.#options.api.namespace, nodeUid: this.#nodeUid })
  }

  async #findNode(): Promise<string> {
    const { api, node } = this.#options
    const uid = (await api.nodes()).find(({ metadata }) => metadata?.name === node)?.metadata?.uid
    if (uid !== undefined) return uid
    throw new ServiceError(
      'runtime_unavailable',
      `The cluster has no node "${node}": set BOXYARD_NODE to its name for this host.`,
    )
  }

  async #untilGone(name: string): Promise<void> {
    const deadline = performance.now() + GONE_MS
    while ((await this.#options.api.pods.get(name)) !== null) {
      if (performance.now() > deadline)
        throw new ServiceError('runtime_unavailable', 'The node does not end the pod of the box.')
      await sleep(GONE_PAUSE_MS)
    }
  }

  async #ensurePolicy(project: string): Promise<void> {
    if (this.#policies.has(project)) return
    const { api, instanceId } = this.#options
    await api.networkPolicies.apply(projectPolicy(project, instanceId))
    this.#policies.add(project)
  }
}

/** Deletes the pods of an instance that wait, whoever made them. */
export async function removeWarmPods(api: KubeApi, instanceId: string): Promise<void> {
  for (const name of await findStubs(api, instanceId)) await removeStub(api, name)
}

/** Deletes the policies of an instance's projects. */
export async function removePolicies(api: KubeApi, instanceId: string): Promise<void> {
  const mark = `${ANNOTATION_INSTANCE}=${instanceId}`
  for (const { metadata } of await api.networkPolicies.list(mark))
    await api.networkPolicies.delete(metadata?.name ?? '')
}

function isStanding({ metadata }: Pod): boolean {
  return metadata?.deletionTimestamp === undefined
}

/** The box that a pod is of, if it is of one. */
export function boxIdOf({ metadata }: Pod): string | undefined {
  return metadata?.labels?.[LABEL_BOX_ID]
}

async function findStubs(api: KubeApi, instanceId: string): Promise<string[]> {
  const pods = await api.pods.list(`${ANNOTATION_INSTANCE}=${instanceId},${LABEL_WARM}=true`)
  return pods.map(({ metadata }) => metadata?.name ?? '')
}

function removeStub(api: KubeApi, name: string): Promise<void> {
  return api.pods.delete(name, { graceSeconds: 1 })
}

const ALLOWED_MS = 5_000
const GONE_MS = 25_000
const GONE_PAUSE_MS = 200
