import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import type { Logger } from '../../../shared/log.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import type { PodChange, PodWatch } from '../../lib/kube/watch.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { BoxLimits } from '../../ports/boxes/limits.ts'
import type { BoxExit, BoxSpec, Runtime, RuntimeBox } from '../../ports/boxes/runtime.ts'
import type { InitEnd } from '../boxes/box-exits.ts'
import { COMMAND_STARTS } from '../boxes/commands.ts'
import { type BoxLife, RunningBoxes, type RunningBoxesOptions } from '../boxes/running-boxes.ts'
import { runtimeOf } from '../boxes/runtime-of.ts'
import { resizeSharedMemory } from '../boxes/shared-memory.ts'
import type { BoxCgroups } from '../host/cgroup/cgroup.ts'
import { readBootId } from '../host/facts.ts'
import type { BoxHandle } from '../host/handle.ts'
import { BoxPods } from './box-pods.ts'
import { createPodDrain, type PodDrain } from './drain.ts'
import { createPodFiles, type PodFileHomes } from './files.ts'
import type { PodNetwork } from './network.ts'
import { type NodeHook, openNodeHook } from './node-hook.ts'
import { createPodRoots, type PodInit, type PodRoots, type SharedPod } from './roots.ts'
import { sharedMarkOf } from './spec.ts'
import { PodStarts, readPodEndpoint } from './starts.ts'
import { podFailureOf } from './state.ts'

export interface KubeRuntimeOptions
  extends Pick<
    RunningBoxesOptions,
    'instanceId' | 'runDir' | 'execFiles' | 'usesLxcfs' | 'terminalBoxes' | 'startsAtOnce'
  > {
  api: KubeApi
  /** Watches the pods of this instance. Its creator opens and closes it. */
  pods: PodWatch
  network: PodNetwork
  /** Image of the boxes' containers. It is a stub, since each box has a root of its own. */
  image: string
  /** Name of this node. Pods of boxes must run here, where the roots are. */
  node: string
  /** Number of pods to make and keep ready on this node. */
  warmPool: number
  /** If true, takes the warm pods of a fleet that the scheduler puts on this node. Default: false. */
  takesShared?: boolean
  /** The `pidsMax` of boxes, the same for all. */
  pidsMax: number
  logger: Logger
  /** Default `/usr/bin/crun`: starts commands in boxes, whose containers another runtime made. */
  crunPath?: string
  /** Default `/usr/bin/catatonit`. */
  initPath?: string
}

/**
 * Creates the runtime of a cluster's node. A box is a pod of RuntimeClass `boxyard`. This process prepares its root when the node's wrapper
 * requests it. Commands start here, on the node, without the API server.
 */
export function createKubeRuntime(options: KubeRuntimeOptions): KubeRuntimeParts {
  const runtime = new KubeRuntime({ ...DEFAULTS, ...options })
  const { boxes } = runtime
  return {
    ...runtimeOf(boxes, runtime),
    kind: 'kubernetes',
    open: () => runtime.open(),
    checkReady: () => runtime.checkReady(),
    list: async () => runtime.list(),
    resize: (id, limits) => runtime.resize(id, limits),
    onExit: (listener) => runtime.onExit(listener),
    onRecovery: (listener) => void options.pods.onRecovery(listener),
    close: () => runtime.close(),
    readyPods: { count: () => runtime.starts.ready(), onTurn: (listener) => runtime.starts.onTurn(listener) },
  }
}

/** The runtime, and its ready pods for future boxes. */
export interface KubeRuntimeParts extends Runtime {
  readyPods: {
    count(): number
    /** Calls `listener` when a box takes the last one, and when there is one again. */
    onTurn(listener: () => void): void
  }
}

class KubeRuntime implements BoxLife {
  readonly boxes: RunningBoxes
  readonly #options: Required<KubeRuntimeOptions>
  readonly #roots: PodRoots
  readonly #pods: BoxPods
  readonly #drain: PodDrain
  readonly #files: PodFileHomes
  readonly starts: PodStarts
  /** Abort the reports of ended boxes that wait for the API server, by box. */
  readonly #reports = new Map<string, AbortController>()
  #hook: NodeHook | undefined
  #listener: (exit: BoxExit) => void = () => undefined

  constructor(options: Required<KubeRuntimeOptions>) {
    this.#options = options
    this.boxes = new RunningBoxes(options, (id, end) => this.#handleExit(id, end))
    this.#pods = new BoxPods(options)
    this.#files = createPodFiles(options)
    this.#drain = createPodDrain({ boxes: this.boxes, logger: options.logger })
    const { namespace } = options.api
    const shared = { mark: sharedMarkOf(namespace), namespace, admit: (pod: SharedPod) => this.starts.admitShared(pod) }
    this.#roots = createPodRoots({
      ...options,
      shared: options.takesShared ? shared : null,
      cgroupVersion: () => this.boxes.host.cgroups.version,
      mounts: this.boxes.roots,
    })
    const parts = { pods: this.#pods, roots: this.#roots, files: this.#files, boxes: this.boxes, namespace }
    this.starts = new PodStarts({ ...options, ...parts })
  }

  async open(): Promise<void> {
    this.#options.pods.onChange((pod, change) => this.#handlePodChange(pod, change))
    await this.boxes.open((id, handle) => this.#adoptNetwork(id, handle))
    const { runDir, network, logger } = this.#options
    const running = this.boxes.list().filter(({ isRunning }) => isRunning)
    network.retain(running.map(({ id }) => id))
    this.#hook = await openNodeHook(runDir, this.#roots, logger)
    this.starts.open()
  }

  checkReady(): Promise<void> {
    return this.#pods.checkReady()
  }

  async close(): Promise<void> {
    for (const report of this.#reports.values()) report.abort()
    await this.starts.close()
    this.#hook?.close()
    await this.boxes.close()
  }

  // Also reports boxes that ended while no agent ran. The watch shows whether others deleted their pods.
  onExit(listener: (exit: BoxExit) => void): void {
    this.#listener = listener
    for (const id of this.boxes.host.handles.list())
      if (this.boxes.read(id) === null) listener({ id, outOfMemory: false, isLost: this.#pods.isTaken(id) })
  }

  /** Lists boxes that run on this node and boxes whose pod still exists. */
  list(): RuntimeBox[] {
    const known = new Map(this.boxes.list().map((box) => [box.id, box]))
    for (const id of this.#pods.boxIds()) if (!known.has(id)) known.set(id, { id, isRunning: false, pid: null })
    return [...known.values()]
  }

  /** Sets the cgroup limits at once, and the pod's resources, which the scheduler counts, soon after. */
  resize(id: string, limits: BoxLimits): Promise<void> {
    return this.boxes.whileRunning(id, async ({ cgroups }, box) => {
      await this.#pods.beforeResize(id, limits)
      await applyLimits(cgroups, id, limits)
      this.#options.network.limit(id, limits.networkMbps)
      this.boxes.disk.bound(id, limits, box.rootPath)
      this.#pods.publishLimits(id, limits)
      resizeSharedMemory(box, limits.shmMb, this.#options.logger)
    })
  }

  // Prefers a warm pod, which takes a twentieth of the time.
  async start(spec: BoxSpec, onWaiting: (why: string) => void = () => undefined): Promise<RuntimeBox> {
    const warmPod = this.starts.takeWarmPod(spec)
    if (warmPod === null) return this.#begin(spec, await this.starts.cold(spec, onWaiting))
    try {
      const box = await this.#begin(spec, await this.starts.warm(spec, warmPod))
      this.#pods.publishLimits(spec.id, spec)
      return box
    } catch (error) {
      this.#options.logger.warn('failed to use a warm pod for a box', { box: spec.id, error })
      await this.remove(spec.id)
      return this.#begin(spec, await this.starts.cold(spec, onWaiting))
    }
  }

  async #begin(spec: BoxSpec, { pid, startTicks, idBase, cgroup }: PodInit): Promise<RuntimeBox> {
    const { id, project, name, rootPath } = spec
    const bootId = readBootId()
    const { cgroups } = this.boxes.host
    this.boxes.expect(id, idBase)
    cgroups.place(id, cgroup)
    await applyLimits(cgroups, id, spec)
    this.boxes.disk.bound(id, spec, rootPath)
    const crunStatus = statusForCrun(pid, startTicks)
    const handle = { bootId, pid, startTicks, slotIndex: 0, idBase, project, name, rootPath, cgroup, crunStatus }
    // The warm pod is older than its box.
    resizeSharedMemory(handle, spec.shmMb, this.#options.logger)
    return this.boxes.begin(id, handle, spec.mounts)
  }

  // Ends the processes first, so that the root is unused, then deletes the pod. Removes the address before that, because after init ends
  // the kubelet may give it to any other pod, even while the API server does not answer. Waits for the node to end the pod only if there is
  // no recorded handle, because its processes are then unknown. Never reuses its name.
  async remove(id: string): Promise<void> {
    this.#reports.get(id)?.abort()
    const isNoted = this.boxes.host.handles.list().includes(id)
    await this.boxes.end(id)
    this.#options.network.leave(id)
    await this.#pods.remove(id, { untilGone: !isNoted })
    this.#files.remove(id)
    this.boxes.forget(id)
  }

  #handlePodChange(pod: Pod, change: PodChange): void {
    const why = podFailureOf(change === 'deleted' ? null : pod)
    if (why === null) return this.starts.noteChange(pod)
    this.starts.fail(pod.metadata?.uid ?? '', why)
    if (change === 'deleted') this.#pods.forget(pod)
    else this.#drain.onPodChange(pod)
  }

  #handleExit(id: string, end: InitEnd): void {
    try {
      this.#options.network.leave(id)
    } catch (error) {
      this.#options.logger.error('failed to remove the network of a stopped box', { box: id, error })
    }
    void this.#reportExit(id, end)
  }

  // If others deleted the pod, they ended the box. Reports nothing once the box is removed or the agent closes.
  async #reportExit(id: string, end: InitEnd): Promise<void> {
    const report = new AbortController()
    this.#reports.set(id, report)
    try {
      const isLost = !end.outOfMemory && (await this.#pods.wasTaken(id, report.signal))
      if (!report.signal.aborted) this.#listener({ id, ...end, isLost })
    } catch (error) {
      if (!report.signal.aborted) throw error
    } finally {
      if (this.#reports.get(id) === report) this.#reports.delete(id)
    }
  }

  // Only logs failures. The box then runs without its network, and the agent still adopts the other boxes.
  async #adoptNetwork(id: string, { project, name, pid }: BoxHandle): Promise<void> {
    try {
      this.#options.network.admit({ boxId: id, project, name, ...readPodEndpoint(pid) })
    } catch (error) {
      this.#options.logger.error('failed to adopt the network of a running box', { box: id, error })
    }
  }
}

// Retries, because the kubelet may at any time lower the pod's own limits to an earlier resize.
async function applyLimits(cgroups: BoxCgroups, id: string, limits: BoxLimits): Promise<void> {
  cgroups.raiseParent(id, limits)
  await cgroups.setMemory(id, limits.ramMb)
  for (let attempt = 1; ; attempt++) {
    try {
      cgroups.raiseParent(id, limits)
      return cgroups.setCpus(id, limits.cpus)
    } catch (error) {
      if (!isErrno(error, 'EINVAL') || attempt === ATTEMPTS) throw error
    }
  }
}

// Builds the status file that crun would have written for a container of its own, and reads before `crun exec`.
function statusForCrun(pid: number, startTicks: number): string {
  return JSON.stringify({
    pid,
    'process-start-time': startTicks,
    'cgroup-path': '',
    scope: '',
    rootfs: 'rootfs',
    'systemd-cgroup': false,
    bundle: '/',
    created: new Date(0).toISOString(),
    owner: 'root',
    detached: true,
    external_descriptors: '[]',
  })
}

const DEFAULTS = {
  ...{ crunPath: '/usr/bin/crun', initPath: '/usr/bin/catatonit' },
  ...{ takesShared: false, usesLxcfs: false, terminalBoxes: 0, startsAtOnce: COMMAND_STARTS },
}
const ATTEMPTS = 5
