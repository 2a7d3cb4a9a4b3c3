import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../../shared/log.ts'
import { readStartTicks } from '../host/handle.ts'
import type { PodInit } from './roots.ts'

/** A pod that runs nothing but its init and waits for a box. */
export interface WarmPod {
  name: string
  uid: string
  init: PodInit
}

export interface WarmPodPoolOptions {
  /** How many are kept ready; 0 is none. */
  size: number
  /** The names of all that wait, whoever made them. */
  list(): Promise<string[]>
  newName(): string
  /** Makes one, from the creation of its pod to its running init; if that fails, or `signal` aborts, the pod may be there. */
  make(name: string, signal: AbortSignal): Promise<WarmPod>
  /** An absent one is a success. */
  remove(name: string): Promise<void>
  /** Whether its pod is one that nobody deletes. */
  isStanding(stub: WarmPod): boolean
  logger: Logger
}

/** Pods kept ready (`BOXYARD_WARM_POOL`), so that a box need not wait for scheduler, kubelet and container runtime. */
export interface WarmPodPool {
  /** Removes those of an earlier process, of which nothing is known, and makes what is missing; from then on it refills by itself. */
  start(): void
  /** One that runs, for good; null if none is ready. */
  take(): WarmPod | null
  /** The pod `uid` is of no use any more; one that is not kept ready is a success. */
  lose(uid: string): void
  /** Makes no more, and returns once none is being made; those that are ready stay for whoever removes them. */
  close(): Promise<void>
}

export function createWarmPodPool(options: WarmPodPoolOptions): WarmPodPool {
  return new Stubs(options)
}

class Stubs implements WarmPodPool {
  readonly #options: WarmPodPoolOptions
  readonly #ready: WarmPod[] = []
  /** Names of pods that are to be removed. */
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
    for (let stub = this.#ready.shift(); stub !== undefined; stub = this.#ready.shift()) {
      const isUsable = readStartTicks(stub.init.pid) === stub.init.startTicks && this.#options.isStanding(stub)
      if (!isUsable) this.#unwanted.add(stub.name)
      this.start()
      if (isUsable) return stub
    }
    return null
  }

  lose(uid: string): void {
    const place = this.#ready.findIndex((stub) => stub.uid === uid)
    const [stub] = place < 0 ? [] : this.#ready.splice(place, 1)
    if (stub === undefined) return
    this.#unwanted.add(stub.name)
    this.start()
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
        this.#options.logger.warn('a pod could not be made ready', { error })
        const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** failures)
        await sleep(pauseMs, undefined, { ref: false, signal }).catch(() => undefined)
      }
    }
    this.#isFilling = false
  }

  async #step(): Promise<void> {
    const { size, list, remove } = this.#options
    // Before the first is made, so that none of ours is among them.
    if (!this.#isSwept) for (const name of await list()) this.#unwanted.add(name)
    this.#isSwept = true
    for (const name of this.#unwanted) {
      await remove(name)
      this.#unwanted.delete(name)
    }
    if (this.#ready.length < size) this.#ready.push(await this.#make())
  }

  async #make(): Promise<WarmPod> {
    const { newName, make, isStanding } = this.#options
    const name = newName()
    try {
      const stub = await make(name, this.#closing.signal)
      if (isStanding(stub)) return stub
      throw new Error('its pod was deleted meanwhile')
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
