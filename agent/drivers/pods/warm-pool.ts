import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../../shared/log.ts'
import { readStartTicks } from '../host/handle.ts'
import type { PodInit } from './roots.ts'

/** A pod that runs only its init and waits for a box. */
export interface WarmPod {
  name: string
  uid: string
  init: PodInit
}

export interface WarmPodPoolOptions {
  /** Number of pods to make and keep ready. 0 for none. */
  size: number
  /** Lists the names of all warm pods, including pods of earlier processes. */
  list(): Promise<string[]>
  newName(): string
  /** Creates a pod and waits for its init. If it fails or `signal` aborts, the pod may exist. */
  make(name: string, signal: AbortSignal): Promise<WarmPod>
  /** Succeeds if it is absent. */
  remove(name: string): Promise<void>
  /** Returns true if the pod exists and its deletion has not begun. */
  isStanding(pod: WarmPod): boolean
  /** Called when a box takes the last ready pod, and when there is one again. */
  onTurn?(): void
  logger: Logger
}

/** Pods kept ready (`BOXYARD_WARM_POOL`), so that a box need not wait for scheduler, kubelet and container runtime. */
export interface WarmPodPool {
  /** Removes the pods of earlier processes, creates the missing ones, and then refills automatically. */
  start(): void
  /** Takes a running pod out of the pool, or returns null if none is ready. */
  take(): WarmPod | null
  /** Adds a running pod that others have made. */
  add(pod: WarmPod): void
  /** Removes a pod that is not in the pool. */
  discard(name: string): void
  /** Number of pods that are ready. */
  count(): number
  /** Drops the pod `uid` from the pool and removes it. Does nothing if the pool does not have it. */
  lose(uid: string): void
  /** Stops refilling, and resolves once no creation of a pod is in progress. Ready pods stay. The next start removes them. */
  close(): Promise<void>
}

export function createWarmPodPool(options: WarmPodPoolOptions): WarmPodPool {
  return new WarmPods(options)
}

class WarmPods implements WarmPodPool {
  readonly #options: WarmPodPoolOptions
  readonly #ready: WarmPod[] = []
  /** Names of pods to remove. */
  readonly #unwanted = new Set<string>()
  readonly #closing = new AbortController()
  #isSwept = false
  #isFilling = false
  #filled = Promise.resolve()

  constructor(options: WarmPodPoolOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#isFilling || this.#isClosing()) return
    this.#isFilling = true
    this.#filled = this.#fill()
  }

  take(): WarmPod | null {
    for (let pod = this.#ready.shift(); pod !== undefined; pod = this.#ready.shift()) {
      const isUsable = readStartTicks(pod.init.pid) === pod.init.startTicks && this.#options.isStanding(pod)
      if (!isUsable) this.#unwanted.add(pod.name)
      this.start()
      if (this.#ready.length === 0) this.#options.onTurn?.()
      if (isUsable) return pod
    }
    return null
  }

  add(pod: WarmPod): void {
    if (this.#isClosing() || !this.#options.isStanding(pod)) return this.discard(pod.name)
    this.#ready.push(pod)
    if (this.#ready.length === 1) this.#options.onTurn?.()
  }

  discard(name: string): void {
    this.#unwanted.add(name)
    this.start()
  }

  count(): number {
    return this.#ready.length
  }

  lose(uid: string): void {
    const index = this.#ready.findIndex((pod) => pod.uid === uid)
    const [pod] = index < 0 ? [] : this.#ready.splice(index, 1)
    if (pod === undefined) return
    this.discard(pod.name)
    if (this.#ready.length === 0) this.#options.onTurn?.()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#filled
  }

  async #fill(): Promise<void> {
    const { signal } = this.#closing
    for (let failures = 0; !this.#isClosing() && !this.#isComplete(); ) {
      try {
        await this.#step()
        failures = 0
      } catch (error) {
        if (this.#isClosing()) break
        failures += 1
        this.#options.logger.warn('failed to prepare a warm pod', { error })
        const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** failures)
        await sleep(pauseMs, undefined, { ref: false, signal }).catch(() => undefined)
      }
    }
    this.#isFilling = false
  }

  async #step(): Promise<void> {
    const { size, list, remove } = this.#options
    // Lists before creating the first, so that the list has only pods of earlier processes.
    if (!this.#isSwept) for (const name of await list()) this.#unwanted.add(name)
    this.#isSwept = true
    for (const name of this.#unwanted) {
      await remove(name)
      this.#unwanted.delete(name)
    }
    if (this.#ready.length < size) this.add(await this.#make())
  }

  async #make(): Promise<WarmPod> {
    const { newName, make, isStanding } = this.#options
    const name = newName()
    try {
      const pod = await make(name, this.#closing.signal)
      if (isStanding(pod)) return pod
      throw new Error('its pod was deleted during its start')
    } catch (error) {
      this.#unwanted.add(name)
      throw error
    }
  }

  #isComplete(): boolean {
    return this.#isSwept && this.#unwanted.size === 0 && this.#ready.length >= this.#options.size
  }

  #isClosing(): boolean {
    return this.#closing.signal.aborted
  }
}

const PAUSE_MS = 500
const PAUSE_MAX_MS = 60_000
