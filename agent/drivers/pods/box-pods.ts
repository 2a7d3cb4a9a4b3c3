import { setTimeout as sleep } from 'node:timers/promises'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import { isKubeError } from '../../lib/kube/errors.ts'
import type { PodWatch } from '../../lib/kube/watch.ts'
import type { BoxLimits } from '../../ports/boxes/limits.ts'
import type { BoxSpec } from '../../ports/boxes/runtime.ts'
import { listWarmPodNames, removeWarmPod } from './instance-pods.ts'
import { createPodLimits, type PodLimits } from './limits.ts'
import { ProjectPolicies } from './project-policies.ts'
import {
  ANNOTATION_INSTANCE,
  boxLabels,
  buildPod,
  LABEL_BOX_ID,
  LABEL_MAKER,
  LABEL_PROJECT,
  LABEL_WARM,
  ownedBy,
  type PodPlan,
  type PodSettings,
  planBoxPod,
  planWarmPod,
  podLimits,
  podResources,
} from './spec.ts'
import { isStanding, isTakenAway } from './state.ts'

export interface BoxPodsOptions extends Omit<PodSettings, 'namespace' | 'nodeUid'> {
  api: KubeApi
  /** Follows the pods of this instance. */
  pods: PodWatch
  logger: Logger
}

/** Creates, finds, resizes and deletes the pods of boxes by the Kubernetes API. */
export class BoxPods {
  readonly #options: BoxPodsOptions
  /** Names of pods that exist or may exist for a box, and are not deleted. */
  readonly #made = new Map<string, Set<string>>()
  /** Names of deleted pods whose deletion the watch has not reported yet. */
  readonly #deleted = new Set<string>()
  readonly #limits: PodLimits
  #nodeUid: string | undefined
  #checking: Promise<void> | null = null
  #allowedUntil = -Infinity
  readonly #policies: ProjectPolicies
  /** Projects of the boxes that have, or are about to get, a pod of this process. */
  readonly #projects = new Map<string, string>()

  constructor(options: BoxPodsOptions) {
    this.#options = options
    this.#limits = createPodLimits({
      resize: (name, limits) => {
        const containers = [{ name: 'box', resources: podResources(limits) }]
        return options.api.pods.resize(name, { spec: { containers } })
      },
      observe: (name) => options.pods.all().find((pod) => isStanding(pod) && pod.metadata?.name === name) ?? null,
      logger: options.logger,
    })
    this.#policies = new ProjectPolicies({ ...options, isUsed: (project) => this.#hasBoxes(project) })
  }

  /** Throws the reason while pods cannot be created or deleted. Caches a success for 5 s. */
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

  /** Lists the pods of a box in the watch's cache. */
  of(id: string): Pod[] {
    return this.#options.pods.all().filter((pod) => boxIdOf(pod) === id)
  }

  /** Lists boxes with a pod whose deletion has not begun. */
  boxIds(): string[] {
    const standing = this.#options.pods.all().filter(({ metadata }) => {
      return metadata?.deletionTimestamp === undefined && !this.#deleted.has(metadata?.name ?? '')
    })
    return [...new Set(standing.flatMap((pod) => boxIdOf(pod) ?? []))]
  }

  get(uid: string): Pod | null {
    return this.#options.pods.get(uid) ?? null
  }

  /** Creates the policy of the project, if missing, and the pod of a box. */
  async create(spec: BoxSpec): Promise<Pod> {
    const { instanceId, api } = this.#options
    await this.#ensurePolicy(spec)
    const plan = planBoxPod(spec, instanceId)
    this.#recordName(spec.id, plan.name)
    return api.pods.create(await this.#build(plan))
  }

  /** Creates a warm pod. */
  async createWarmPod(name: string): Promise<Pod> {
    const { instanceId, api } = this.#options
    return api.pods.create(await this.#build(planWarmPod(name, instanceId)))
  }

  /** Lists the names of all warm pods of the instance. */
  listWarmPods(): Promise<string[]> {
    const { instanceId, api } = this.#options
    return listWarmPodNames(api, instanceId)
  }

  removeWarmPod(name: string): Promise<void> {
    return removeWarmPod(this.#options.api, name)
  }

  /**
   * Makes a shared warm pod on this node one of this instance, and waits until the watch reports it.
   * @throws KubeError, or Error if it is deleted, or the watch does not report it
   */
  async adopt({ name, uid }: { name: string; uid: string }): Promise<void> {
    const { instanceId, api, node } = this.#options
    const nodeUid = await this.#findNodeUid()
    const labels = { [ANNOTATION_INSTANCE]: instanceId }
    await api.pods.patch(name, { metadata: { uid, labels, ownerReferences: ownedBy({ node, nodeUid }) } })
    const deadline = performance.now() + SEEN_MS
    while (this.get(uid) === null) {
      if (performance.now() > deadline) throw new Error('the cluster does not list it')
      await sleep(SEEN_PAUSE_MS)
    }
  }

  /** Relabels a warm pod as the pod of a box. Records its name first, to find it even if the request fails. */
  async claim(name: string, spec: BoxSpec): Promise<void> {
    const { instanceId, api } = this.#options
    this.#recordName(spec.id, name)
    await this.#ensurePolicy(spec)
    const labels = { ...boxLabels(spec, instanceId), [LABEL_WARM]: null, [LABEL_MAKER]: null }
    await api.pods.patch(name, { metadata: { labels } })
  }

  /** Deletes the pods of a box. With `untilGone`, waits until the node has ended them. */
  async remove(id: string, { untilGone }: { untilGone: boolean }): Promise<void> {
    const { api } = this.#options
    const known = this.of(id).map(({ metadata }) => metadata?.name ?? '')
    const names = [...new Set([...known, ...(this.#made.get(id) ?? [])])]
    if (names.length === 0) return void this.#projects.delete(id)
    this.#checkFollowed()
    for (const name of names) {
      await api.pods.delete(name, { graceSeconds: 1 })
      this.#deleted.add(name)
    }
    if (untilGone) for (const name of names) await this.#untilGone(name)
    this.#made.delete(id)
    this.#projects.delete(id)
  }

  /** Forgets a pod whose deletion the watch has reported. */
  forget({ metadata }: Pod): void {
    this.#deleted.delete(metadata?.name ?? '')
  }

  /**
   * Resolves once no earlier resize of the box is in flight to the kubelet. Throws if `limits` differ from the pod's and the cluster is
   * unreachable.
   */
  async beforeResize(id: string, limits: BoxLimits): Promise<void> {
    const pod = this.#standing(id)
    const known = pod === undefined ? limits : podLimits(pod)
    if (known?.cpus !== limits.cpus || known.ramMb !== limits.ramMb) this.#checkFollowed()
    await this.#limits.settled(pod?.metadata?.name ?? '')
  }

  /** Publishes the current limits of a box to the cluster soon. */
  publishLimits(id: string, limits: BoxLimits): void {
    const name = this.#standing(id)?.metadata?.name ?? this.#lastCreated(id)
    if (name !== undefined) this.#limits.publish(name, limits)
  }

  /** Returns true if the watch shows that someone other than the agent deleted a box's pod, or if the watch is broken. */
  isTaken(id: string): boolean {
    return this.#options.pods.fault() !== null || isTakenAway(this.of(id).at(-1) ?? null)
  }

  /**
   * As `isTaken`, but reads the pod from the API, since the watch may lag behind. While the API does not answer, retries for a minute,
   * because it may answer before the watch is found broken. Rejects once `signal` is aborted.
   */
  async wasTaken(id: string, signal: AbortSignal): Promise<boolean> {
    const { api, pods } = this.#options
    const deadline = performance.now() + ANSWER_MS
    for (;;) {
      const known = this.of(id).at(-1) ?? null
      if (isTakenAway(known)) return true
      try {
        return isTakenAway(await api.pods.get(known?.metadata?.name ?? ''))
      } catch (error) {
        if (pods.fault() !== null) return true
        if (!isKubeError(error, 'unreachable') || performance.now() > deadline) return false
      }
      await sleep(ANSWER_PAUSE_MS, undefined, { signal })
    }
  }

  #standing(id: string): Pod | undefined {
    return this.of(id).findLast(isStanding)
  }

  // For a pod that the watch has not reported yet.
  #lastCreated(id: string): string | undefined {
    return [...(this.#made.get(id) ?? [])].at(-1)
  }

  // Pods can be created and deleted safely only while the watch works.
  #checkFollowed(): void {
    const fault = this.#options.pods.fault()
    if (fault !== null) throw fault.error
  }

  // Records the name before the request, to find the pod even if the answer is lost.
  #recordName(id: string, name: string): void {
    this.#made.set(id, (this.#made.get(id) ?? new Set()).add(name))
  }

  async #build(plan: PodPlan): Promise<Pod> {
    const nodeUid = await this.#findNodeUid()
    return buildPod(plan, { ...this.#options, namespace: this.#options.api.namespace, nodeUid })
  }

  async #findNodeUid(): Promise<string> {
    this.#nodeUid ??= await this.#findNode()
    return this.#nodeUid
  }

  async #findNode(): Promise<string> {
    const { api, node } = this.#options
    const uid = (await api.nodes()).find(({ metadata }) => metadata?.name === node)?.metadata?.uid
    if (uid !== undefined) return uid
    throw new ServiceError(
      'runtime_unavailable',
      `The cluster has no node "${node}". Set BOXYARD_NODE to the name of this host in the cluster.`,
    )
  }

  async #untilGone(name: string): Promise<void> {
    const deadline = performance.now() + GONE_MS
    while ((await this.#options.api.pods.get(name)) !== null) {
      if (performance.now() > deadline)
        throw new ServiceError('runtime_unavailable', 'The node does not stop the pod of the box.')
      await sleep(GONE_PAUSE_MS)
    }
  }

  #ensurePolicy({ id, project }: BoxSpec): Promise<void> {
    this.#projects.set(id, project)
    return this.#policies.ensure(project)
  }

  #hasBoxes(project: string): boolean {
    if ([...this.#projects.values()].includes(project)) return true
    return this.#options.pods.all().some(({ metadata }) => metadata?.labels?.[LABEL_PROJECT] === project)
  }
}

/** Returns the id of the box that a pod belongs to. */
export function boxIdOf({ metadata }: Pod): string | undefined {
  return metadata?.labels?.[LABEL_BOX_ID]
}

const ALLOWED_MS = 5_000
const ANSWER_MS = 60_000
const ANSWER_PAUSE_MS = 200
const SEEN_MS = 10_000
const SEEN_PAUSE_MS = 10
const GONE_MS = 25_000
const GONE_PAUSE_MS = 200
