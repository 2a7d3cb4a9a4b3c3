import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { SLOTS_MAX } from './slots.ts'

/** A slot of a pool, by its number (0–1023), which the pool assigns. */
export interface PooledSlot {
  index: number
}

/**
 * A pool of slots that are created ahead of time, in batches in the background. Only the same project reuses a used slot, since its
 * counters and routes reveal earlier activity.
 */
export interface SlotPool<T extends PooledSlot> {
  /** Returns the project's slot that has been idle longest, else a fresh one. Throws `runtime_unavailable` if it cannot create one. */
  take(project: string): Promise<T>
  /** Returns a slot for another box of its project. Beyond `spareMax`, destroys the one idle longest. */
  give(slot: T, project: string): void
  /** Destroys a slot instead of returning it, since its box may have changed it. */
  discard(slot: T): void
  /** Excludes a number from the pool until `free`. */
  reserve(index: number): void
  /** Makes a reserved number available again. */
  free(index: number): void
  /** Sets the number of the first new slot. Lower numbers come last. Call it before the pool creates any slot. */
  beginAt(first: number): void
  /** Starts to keep spare slots, as the first `take` does. */
  start(): void
  /** Stops creating slots, rejects waiting callers, and resolves with the spare slots once the current batch is done. */
  stop(): Promise<T[]>
}

export interface SlotPoolOptions<T extends PooledSlot> {
  /** Creates the slots with these numbers. Leaves those that fail out of the result. */
  create(indexes: readonly number[]): Promise<T[]>
  destroy(slot: T): void
  /** Fresh slots kept ready, plus one per used slot, since another project may need as many. */
  spareMin: number
  /** Maximum of used slots kept, and of fresh ones unless `spareMin` is higher. */
  spareMax: number
  logger: Logger
}

interface Waiter<T> {
  project: string
  resolve(slot: T): void
  reject(error: unknown): void
}

/** Creates a pool of slots with numbers 0–1023. */
export function createSlotPool<T extends PooledSlot>(options: SlotPoolOptions<T>): SlotPool<T> {
  return new PreparingPool(options)
}

class PreparingPool<T extends PooledSlot> implements SlotPool<T> {
  readonly #options: SlotPoolOptions<T>
  readonly #fresh: T[] = []
  /** Used slots, in the order of their return. */
  readonly #returned: { slot: T; project: string }[] = []
  readonly #waiters: Waiter<T>[] = []
  readonly #used = new Set<number>()
  #cursor = 0
  #making: Promise<void> | null = null
  #refillTimer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: SlotPoolOptions<T>) {
    this.#options = options
  }

  take(project: string): Promise<T> {
    if (this.#isStopped) return Promise.reject(stopped())
    const index = this.#returned.findIndex((one) => one.project === project)
    const slot = index >= 0 ? this.#returned.splice(index, 1)[0]?.slot : this.#fresh.shift()
    if (slot) {
      this.#refill()
      return Promise.resolve(slot)
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ project, resolve, reject })
      this.#make()
    })
  }

  give(slot: T, project: string): void {
    const index = this.#waiters.findIndex((waiter) => waiter.project === project)
    if (index >= 0) return this.#waiters.splice(index, 1)[0]?.resolve(slot)
    this.#returned.push({ slot, project })
    if (this.#isStopped || this.#returned.length > this.#options.spareMax) this.#destroyOldest()
    if (!this.#isStopped) this.#refill()
  }

  discard(slot: T): void {
    this.#options.destroy(slot)
    this.#used.delete(slot.index)
    if (!this.#isStopped) this.#refill()
  }

  reserve(index: number): void {
    this.#used.add(index)
  }

  free(index: number): void {
    this.#used.delete(index)
  }

  beginAt(first: number): void {
    this.#cursor = first % SLOTS_MAX
  }

  start(): void {
    if (!this.#isStopped) this.#make()
  }

  async stop(): Promise<T[]> {
    this.#isStopped = true
    clearTimeout(this.#refillTimer)
    for (const waiter of this.#waiters.splice(0)) waiter.reject(stopped())
    await this.#making
    return [...this.#fresh.splice(0), ...this.#returned.splice(0).map(({ slot }) => slot)]
  }

  #destroyOldest(): void {
    const oldest = this.#returned.shift()
    if (!oldest) return
    this.#options.destroy(oldest.slot)
    this.#used.delete(oldest.slot.index)
  }

  // Leaves the CPU to the boxes of a burst. Refills when half of the slots are gone, or after the burst.
  #refill(): void {
    clearTimeout(this.#refillTimer)
    if (this.#fresh.length <= this.#options.spareMin / 2) return this.#make()
    this.#refillTimer = setTimeout(() => this.#make(), REFILL_DELAY_MS)
    this.#refillTimer.unref()
  }

  #make(): void {
    this.#making ??= this.#makeUntilEnough().finally(() => {
      this.#making = null
      // A caller may have begun to wait after the last check.
      if (this.#waiters.length > 0) this.#make()
    })
  }

  async #makeUntilEnough(): Promise<void> {
    // Concurrent callers share a batch.
    await Promise.resolve()
    while (!this.#isStopped && this.#missing() > 0) {
      const count = Math.min(this.#missing(), BATCH_MAX)
      let indexes = this.#nextIndexes(count)
      if (indexes.length === 0 && this.#waiters.length > 0) {
        this.#waiters.forEach(() => this.#destroyOldest())
        indexes = this.#nextIndexes(count)
      }
      if (indexes.length === 0 && this.#waiters.length === 0) return
      try {
        if (indexes.length === 0) throw exhausted()
        await this.#makeBatch(indexes)
      } catch (error) {
        this.#options.logger.warn('failed to create network slots', { error, waiting: this.#waiters.length })
        for (const waiter of this.#waiters.splice(0)) waiter.reject(error)
        return
      }
    }
  }

  async #makeBatch(indexes: readonly number[]): Promise<void> {
    for (const index of indexes) this.#used.add(index)
    try {
      const slots = await this.#options.create(indexes)
      for (const index of indexes) if (!slots.some((slot) => slot.index === index)) this.#used.delete(index)
      if (slots.length === 0)
        throw new ServiceError(
          'runtime_unavailable',
          'The agent could not create a network slot. Find the cause in its log.',
        )
      for (const slot of slots) this.#handOut(slot)
    } catch (error) {
      for (const index of indexes) this.#used.delete(index)
      throw error
    }
  }

  #handOut(slot: T): void {
    const waiter = this.#waiters.shift()
    if (waiter) waiter.resolve(slot)
    else this.#fresh.push(slot)
  }

  #missing(): number {
    const { spareMin, spareMax } = this.#options
    const wanted = Math.max(spareMin, Math.min(spareMax, spareMin + this.#returned.length))
    return this.#waiters.length + wanted - this.#fresh.length
  }

  // Uses numbers round robin, since the kernel removes the interface of a destroyed slot a little later.
  #nextIndexes(count: number): number[] {
    const found: number[] = []
    for (let step = 0; step < SLOTS_MAX && found.length < count; step++) {
      const index = (this.#cursor + step) % SLOTS_MAX
      if (!this.#used.has(index)) found.push(index)
    }
    const last = found.at(-1)
    if (last !== undefined) this.#cursor = (last + 1) % SLOTS_MAX
    return found
  }
}

function stopped(): ServiceError {
  return new ServiceError('draining', 'The network is closing.')
}

function exhausted(): ServiceError {
  return new ServiceError(
    'runtime_unavailable',
    `All ${SLOTS_MAX} network slots of this host are in use. Delete boxes.`,
  )
}

const REFILL_DELAY_MS = 200
const BATCH_MAX = 16
