import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { runOk } from '../../lib/run.ts'
import type { BoxSpec } from '../../ports/boxes/runtime.ts'
import type { RunningBoxes } from '../boxes/running-boxes.ts'
import type { BoxPods } from './box-pods.ts'
import type { PodFileHomes } from './files.ts'
import type { PodNetwork } from './network.ts'
import { type PodEndpoint, type PodInit, type PodRoot, type PodRoots, type PodTicket, podAddressOf } from './roots.ts'
import { newWarmPodName, WARM_POD_GRACE_SECONDS } from './spec.ts'
import { describePending, describeUnplaced, isTakenAway } from './state.ts'
import { createWarmPodPool, type WarmPod, type WarmPodPool } from './warm-pool.ts'

export interface PodStartsOptions {
  pods: BoxPods
  roots: PodRoots
  files: PodFileHomes
  network: PodNetwork
  boxes: RunningBoxes
  /** The namespace of the pods. */
  namespace: string
  /** How many pods to make and keep ready. */
  warmPool: number
  /** The `pidsMax` of all boxes. */
  pidsMax: number
  logger: Logger
}

/** Starts boxes: cold in a new pod, or warm in one that is ready. */
export class PodStarts {
  readonly #options: PodStartsOptions
  readonly #warmPods: WarmPodPool
  /** Called with the reason why a start waits, by the uid of its pod. */
  readonly #waits = new Map<string, (why: string) => void>()
  #isClosing = false
  #onTurn = (): void => undefined

  constructor(options: PodStartsOptions) {
    this.#options = options
    this.#warmPods = createWarmPodPool({
      size: options.warmPool,
      list: () => options.pods.listWarmPods(),
      newName: newWarmPodName,
      make: (name, signal) => this.#makeWarmPod(name, signal),
      remove: (name) => options.pods.removeWarmPod(name),
      isStanding: ({ uid }) => !isTakenAway(options.pods.get(uid)),
      onTurn: () => this.#onTurn(),
      logger: options.logger,
    })
  }

  /** Starts the warm pool. */
  open(): void {
    this.#warmPods.start()
  }

  close(): Promise<void> {
    this.#isClosing = true
    return this.#warmPods.close()
  }

  /** Number of pods that are ready. */
  ready(): number {
    return this.#warmPods.count()
  }

  /** Calls `listener` when a box takes the last ready pod, and when there is one again. */
  onTurn(listener: () => void): void {
    this.#onTurn = listener
  }

  /** Takes a warm pod of the fleet that the scheduler has put on this node, just before the creation of its container. */
  admitShared(pod: { uid: string; name: string }): void {
    if (this.#isClosing) return
    this.#adopt(pod).catch((error: unknown) => {
      this.#options.logger.warn('failed to claim a warm pod', { pod: pod.name, error })
      this.#warmPods.discard(pod.name)
    })
  }

  /** Fails the start that waits for the pod `podUid`, and drops it from the warm pool. */
  fail(podUid: string, why: string): void {
    this.#options.roots.fail(podUid, notStarted(why))
    this.#warmPods.lose(podUid)
  }

  /** Reports to the start that waits for the pod, if there is one, that the pod fits nowhere in the cluster. */
  noteChange(pod: Pod): void {
    const why = describeUnplaced(pod)
    if (why !== null) this.#waits.get(pod.metadata?.uid ?? '')?.(why)
  }

  /** Creates the box's pod, and resolves once its init runs. */
  async cold(spec: BoxSpec, onWaiting: (why: string) => void): Promise<PodInit> {
    const pod = await this.#options.pods.create(spec)
    const uid = pod.metadata?.uid ?? ''
    const ticket = { spec, prepare: (endpoint: PodEndpoint) => this.#readyRoot(spec, endpoint) }
    this.#waits.set(uid, onWaiting)
    try {
      // The scheduler may have answered before the API did.
      this.noteChange(this.#options.pods.get(uid) ?? pod)
      return await this.#untilInit(uid, ticket)
    } finally {
      this.#waits.delete(uid)
    }
  }

  /** Takes a warm pod that fits the box, or returns null if there is none. */
  takeWarmPod(spec: BoxSpec): WarmPod | null {
    const isLikeMost = spec.graceSeconds <= WARM_POD_GRACE_SECONDS && spec.pidsMax === this.#options.pidsMax
    return isLikeMost ? this.#warmPods.take() : null
  }

  /** Turns a warm pod into the box's. A failure leaves the pod half changed, and nothing may run in it. */
  async warm(spec: BoxSpec, { name, init }: WarmPod): Promise<PodInit> {
    const { pods, boxes } = this.#options
    await pods.claim(name, spec)
    const { source, files } = this.#readyRoot(spec, readPodEndpoint(init.pid))
    boxes.expect(spec.id, init.idBase)
    await boxes.roots.replaceRoot({ pid: init.pid, source, files })
    await setHostname(init.pid, spec.hostname)
    return init
  }

  async #makeWarmPod(name: string, signal: AbortSignal): Promise<WarmPod> {
    const pod = await this.#options.pods.createWarmPod(name)
    const uid = pod.metadata?.uid ?? ''
    const init = await this.#untilInit(uid, this.#warmTicket(), signal)
    return { name, uid, init }
  }

  async #adopt({ uid, name }: { uid: string; name: string }): Promise<void> {
    const init = await this.#untilInit(uid, this.#warmTicket())
    await this.#options.pods.adopt({ name, uid })
    this.#warmPods.add({ name, uid, init })
  }

  #warmTicket(): Pick<PodTicket, 'spec' | 'prepare'> {
    const { files, pidsMax } = this.#options
    return { spec: { pidsMax, environment: {} }, prepare: () => files.warmPodRoot() }
  }

  #readyRoot(spec: BoxSpec, endpoint: PodEndpoint): PodRoot {
    const { files, network } = this.#options
    const { id, project, name, networkMbps: mbps } = spec
    return files.rootOf(spec, network.admit({ boxId: id, project, name, mbps, ...endpoint }))
  }

  async #untilInit(
    uid: string,
    { spec, prepare }: Pick<PodTicket, 'spec' | 'prepare'>,
    signal?: AbortSignal,
  ): Promise<PodInit> {
    const { roots, pods, namespace } = this.#options
    const ticket = roots.expect(uid, { spec, namespace, prepare })
    const abort = (): void => ticket.fail(new Error('given up'))
    const timer = setTimeout(() => ticket.fail(notStarted(describePending(pods.get(uid)))), START_MS)
    signal?.addEventListener('abort', abort)
    if (signal?.aborted === true) abort()
    try {
      return await ticket.started
    } finally {
      signal?.removeEventListener('abort', abort)
      clearTimeout(timer)
      ticket.drop()
    }
  }
}

/** Creates the error of a box whose pod did not start. */
function notStarted(why: string): ServiceError {
  return new ServiceError('runtime_unavailable', why)
}

/** Reads the address of a process's pod in the cluster's network. */
export function readPodEndpoint(pid: number): PodEndpoint {
  return { address: podAddressOf(pid), networkNamespace: `/proc/${pid}/ns/net` }
}

// Writes from the host, because the box mounts /proc/sys read-only.
async function setHostname(pid: number, name: string): Promise<void> {
  const write = 'echo "$1" >/proc/sys/kernel/hostname'
  await runOk('nsenter', [`--uts=/proc/${pid}/ns/uts`, '--', 'sh', '-c', write, 'sh', name])
}

// Less than the deadline of a step, so that the error has the reason and not only the timeout.
const START_MS = 50_000
