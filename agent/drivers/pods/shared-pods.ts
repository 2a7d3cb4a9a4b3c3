import { setTimeout as sleep } from 'node:timers/promises'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import type { Logger } from '../../../shared/log.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import type { PodWatch } from '../../lib/kube/watch.ts'
import type { BoxPlaces } from '../../ports/boxes/box-places.ts'
import {
  ANNOTATION_INSTANCE,
  avoidedBy,
  buildPod,
  newWarmPodName,
  planSharedPod,
  sharedMarkOf,
  WARM_SIZE,
} from './spec.ts'
import { describeUnplaced, isStanding, podFailureOf } from './state.ts'

export interface SharedPodsOptions {
  api: { namespace: string; pods: Pick<KubeApi['pods'], 'create' | 'delete'> }
  /** Watches the pods of `sharedPodsOf`, which are the warm pods that this instance created and no box uses. */
  pods: Pick<PodWatch, 'all' | 'get' | 'onChange' | 'fault'>
  instanceId: string
  image: string
  /** Number of pods to keep in the fleet, whichever node they are on. */
  size: number
  /** The pods that this agent has ready. */
  ready: { count(): number; onTurn(listener: () => void): void }
  /** Names of nodes whose agents accept no pods now. */
  closedNodes(): readonly string[]
  logger: Logger
  /** How long a pod waits for the agent of its node, and a surplus pod for a box. Default: one minute. */
  patienceMs?: number
  /** Wait after a failure, doubled by each further one, up to a minute. Default: 500 ms. */
  pauseMs?: number
}

/** The warm pods that this agent creates for its fleet. */
export interface SharedPods extends BoxPlaces {
  /** Starts to create missing pods, and to remove pods that fail or exceed the number. */
  start(): void
  /** Stops maintaining the pods, which stay. */
  close(): Promise<void>
}

/**
 * Maintains a number of warm pods that the scheduler puts on any node of the fleet. The agent of that node makes each pod ready, and its
 * boxes take it (`PodStarts.admitShared`). Then this agent creates the next.
 */
export function createSharedPods(options: SharedPodsOptions): SharedPods {
  return new SharedPodsOfAgent({ patienceMs: 60_000, pauseMs: 500, ...options })
}

class SharedPodsOfAgent implements SharedPods {
  readonly #options: Required<SharedPodsOptions>
  readonly #closing = new AbortController()
  /** Names of pods that the watch has not reported yet, with the time until which they count, in ms of `performance.now`. */
  readonly #unseen = new Map<string, number>()
  /** When pods became idle, by uid. A pod is idle if no agent has made it ready, or if no box uses it. */
  readonly #idleSince = new Map<string, number>()
  /** Nodes on which a pod failed, with the time until which this agent avoids them. */
  readonly #failedNodes = new Map<string, number>()
  /** Names of pods that a box waits for. */
  readonly #awaited = new Set<string>()
  #wake = new AbortController()
  #stop = (): void => undefined
  #running = Promise.resolve()

  constructor(options: Required<SharedPodsOptions>) {
    this.#options = options
  }

  start(): void {
    this.#stop = this.#options.pods.onChange(() => this.#wake.abort())
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#stop()
    this.#closing.abort()
    await this.#running
  }

  ready(): number {
    return this.#options.ready.count()
  }

  onTurn(listener: () => void): void {
    this.#options.ready.onTurn(listener)
  }

  async choose(size: { cpus: number; ramMb: number }, { closedNodes }: { closedNodes: readonly string[] }) {
    const name = newWarmPodName()
    this.#awaited.add(name)
    try {
      const pod = await this.#create(name, { ...size, avoids: closedNodes })
      const node = pod === null ? null : await this.#untilReady(pod)
      // A pod that has become ready just now may have a box already.
      if (pod !== null && node === null) await this.#removeUnused(this.#options.pods.get(uidOf(pod)) ?? pod)
      return node
    } catch (error) {
      this.#options.logger.warn('failed to choose a node for a box', { error })
      return null
    } finally {
      this.#awaited.delete(name)
    }
  }

  async #run(): Promise<void> {
    const { logger, patienceMs, pauseMs } = this.#options
    for (let failures = 0; !this.#closing.signal.aborted; ) {
      this.#wake = new AbortController()
      try {
        failures = (await this.#tend()) ? 0 : failures + 1
      } catch (error) {
        failures += 1
        logger.warn('failed to create warm pods', { error })
      }
      // A change during the wait after a failure must not shorten that wait.
      const signal = failures > 0 ? this.#closing.signal : AbortSignal.any([this.#closing.signal, this.#wake.signal])
      const waitMs = failures > 0 ? Math.min(PAUSE_MAX_MS, pauseMs * 2 ** failures) : patienceMs / TURNS
      await sleep(waitMs, undefined, { ref: false, signal }).catch(() => undefined)
    }
  }

  /** Removes failed and surplus pods, and creates missing ones. Returns false if one failed. */
  async #tend(): Promise<boolean> {
    const { pods, size } = this.#options
    if (pods.fault() !== null) return true
    const known = pods.all().filter(isStanding)
    this.#forget(known)
    const failed = known.filter((pod) => podFailureOf(pod) !== null || this.#isOrphan(pod))
    for (const pod of failed) {
      this.#failedNodes.set(pod.spec?.nodeName ?? '', performance.now() + this.#options.patienceMs)
      await this.#removeUnused(pod)
    }
    const mine = known.filter((pod) => !failed.includes(pod) && !this.#awaited.has(nameOf(pod)))
    const outdated = mine.filter((pod) => this.#isOutdated(pod))
    for (const pod of outdated) await this.#removeUnused(pod)
    const left = mine.filter((pod) => !outdated.includes(pod))
    const awaited = [...this.#unseen.keys()].filter((name) => !this.#awaited.has(name))
    const missing = size - left.length - awaited.length
    for (let i = 0; i < missing; i++)
      await this.#create(newWarmPodName(), { ...WARM_SIZE, avoids: this.#closedNodes() })
    for (const pod of this.#idle(left).slice(0, Math.max(0, -missing))) await this.#removeUnused(pod)
    return failed.length === 0
  }

  /** Forgets expired entries. */
  #forget(known: readonly Pod[]): void {
    const now = performance.now()
    for (const pod of known) this.#unseen.delete(nameOf(pod))
    for (const times of [this.#unseen, this.#failedNodes])
      for (const [key, until] of times) if (until < now) times.delete(key)
    const uids = new Set(known.map(uidOf))
    for (const uid of this.#idleSince.keys()) if (!uids.has(uid)) this.#idleSince.delete(uid)
    for (const pod of known) if (!this.#idleSince.has(uidOf(pod))) this.#idleSince.set(uidOf(pod), now)
  }

  /** Returns true for an unscheduled pod that avoids a node which accepts pods again. */
  #isOutdated(pod: Pod): boolean {
    const closed = new Set([...this.#options.closedNodes(), ...this.#failedNodes.keys()])
    return describeUnplaced(pod) !== null && avoidedBy(pod).some((node) => !closed.has(node))
  }

  /** Returns true for a running pod that the agent of its node has not made ready for long. */
  #isOrphan(pod: Pod): boolean {
    return pod.status?.phase === 'Running' && !isReady(pod) && this.#isIdle(pod)
  }

  #idle(pods: readonly Pod[]): Pod[] {
    return pods.filter((pod) => this.#isIdle(pod))
  }

  #isIdle(pod: Pod): boolean {
    return performance.now() - (this.#idleSince.get(uidOf(pod)) ?? 0) > this.#options.patienceMs
  }

  #closedNodes(): string[] {
    return [...this.#options.closedNodes()]
  }

  /** Creates a pod. Returns null without creating one if it would have to avoid too many nodes. */
  async #create(name: string, plan: { cpus: number; ramMb: number; avoids: readonly string[] }): Promise<Pod | null> {
    const { api, instanceId: maker, image, patienceMs } = this.#options
    const avoids = [...new Set([...plan.avoids, ...this.#failedNodes.keys()])].filter((node) => node !== '')
    if (avoids.length > AVOIDED_MAX) return null
    const mark = sharedMarkOf(api.namespace)
    this.#unseen.set(name, performance.now() + patienceMs)
    const pod = planSharedPod({ name, maker, mark }, { ...plan, avoids })
    return api.pods.create(buildPod(pod, { namespace: api.namespace, image, node: '', nodeUid: '' }))
  }

  /** Resolves with the node of a pod once it is ready there, or with null if it fails, cannot be scheduled, or takes too long. */
  #untilReady(created: Pod): Promise<string | null> {
    const { pods } = this.#options
    const uid = uidOf(created)
    const { promise, resolve } = Promise.withResolvers<string | null>()
    const look = (pod: Pod | null, isGone: boolean): void => {
      const { nodeName } = pod?.spec ?? {}
      // A box may have taken it at once.
      if (pod !== null && nodeName !== undefined && (isGone ? isStanding(pod) : isReady(pod))) resolve(nodeName)
      else if (isGone || (pod !== null && (podFailureOf(pod) !== null || describeUnplaced(pod) !== null))) resolve(null)
    }
    const stop = pods.onChange((pod, change) => {
      if (uidOf(pod) === uid) look(pod, change === 'deleted')
    })
    look(pods.get(uid), false)
    const timer = setTimeout(() => resolve(null), READY_MS)
    const close = (): void => resolve(null)
    this.#closing.signal.addEventListener('abort', close)
    if (this.#closing.signal.aborted) close()
    return promise.finally(() => {
      stop()
      clearTimeout(timer)
      this.#closing.signal.removeEventListener('abort', close)
    })
  }

  /** Deletes a pod unless it has changed, since a box may use it by now. */
  async #removeUnused({ metadata: { name = '', uid = '', resourceVersion: version = '' } = {} }: Pod): Promise<void> {
    await this.#options.api.pods.delete(name, { uid, version, graceSeconds: 1 })
    this.#unseen.delete(name)
  }
}

/** Returns true once the agent of its node has taken the pod. */
function isReady({ metadata }: Pod): boolean {
  return metadata?.labels?.[ANNOTATION_INSTANCE] !== undefined
}

function nameOf({ metadata }: Pod): string {
  return metadata?.name ?? ''
}

function uidOf({ metadata }: Pod): string {
  return metadata?.uid ?? ''
}

const PAUSE_MAX_MS = 60_000
/** Number of checks of the pods within the time that one may be idle. */
const TURNS = 6
const READY_MS = 20_000
/** Keeps requests to the scheduler short. */
const AVOIDED_MAX = 100
