import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { SLOTS_MAX } from './slots.ts'

/** A slot as the pool needs it: its number (0–1023), which the pool assigns. */
export interface PooledSlot {
  index: number
}

/**
 * Slots that are ready before they are needed, made in batches in the background. One that a project used goes to the same
 * project again or to nobody: its counters and routes tell of what was done in it.
 */
export interface SlotPool<T extends PooledSlot> {
  /** The project's slot that waited longest, else a fresh one. Throws `runtime_unavailable` if none can be made. */
  take(project: string): Promise<T>
  /** Gives a slot back for another box of its project; beyond `spareMax`, those that waited longest are destroyed. */
  give(slot: T, project: string): void
  /** Keeps a number out of the pool until `free`. */
  reserve(index: number): void
  /** Takes a number back into the pool. */
  free(index: number): void
  /** Begins to keep spare slots; the numbers before `first` rest until the others are used up. */
  start(first: number): void
  /** Stops making slots, fails those who wait, and resolves with the spare ones once nothing is under way. */
  stop(): Promise<T[]>
}

export interface SlotPoolOptions<T extends PooledSlot> {
  /** Makes the slots with these numbers; those that fail are missing from the answer. */
  create(indexes: readonly number[]): Promise<T[]>
  destroy(slot: T): void
  /** Fresh slots kept ready, beside one for each used slot: another project may want as many. */
  spareMin: number
  /** Most used slots kept, and most fresh ones if that is more than `spareMin`. */
  spareMax: number
  logger: Logger
}

interface Waiter<T> {
  project: string
  resolve(slot: T): void
  reject(error: unknown): void
}

/** A pool of slots with numbers 0–1023. */
export function createSlotPool<T extends PooledSlot>(options: SlotPoolOptions<T>): SlotPool<T> {
  return new PreparingPool(options)
}

class PreparingPool<T extends PooledSlot> implements SlotPool<T> {
  readonly #options: SlotPoolOptions<T>
  readonly #fresh: T[] = []
  /** In the order they were given back. */
  readonly #worn: { slot: T; project: string }[] = []
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
    const place = this.#worn.findIndex((one) => one.project === project)
    const slot = place >= 0 ? this.#worn.splice(place, 1)[0]?.slot : this.#fresh.shift()
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
    const place = this.#waiters.findIndex((waiter) => waiter.project === project)
    if (place >= 0) return this.#waiters.splice(place, 1)[0]?.resolve(slot)
    this.#worn.push({ slot, project })
    if (this.#isStopped || this.#worn.length > this.#options.spareMax) this.#destroyOldest()
    if (!this.#isStopped) this.#refill()
  }

  reserve(index: number): void {
    this.#used.add(index)
  }

  free(index: number): void {
    this.#used.delete(index)
  }

  start(first: number): void {
    this.#cursor = first % SLOTS_MAX
    this.#make()
  }

  async stop(): Promise<T[]> {
    this.#isStopped = true
    clearTimeout(this.#refillTimer)
    for (const waiter of this.#waiters.splice(0)) waiter.reject(stopped())
    await this.#making
    return [...this.#fresh.splice(0), ...this.#worn.splice(0).map(({ slot }) => slot)]
  }

  #destroyOldest(): void {
    const oldest = this.#worn.shift()
    if (!oldest) return
    this.#options.destroy(oldest.slot)
    this.#used.delete(oldest.slot.index)
  }

  // A burst should spend the processor on its boxes first: slots are made anew when half are gone, or when it is over.
  #refill(): void {
    clearTimeout(this.#refillTimer)
    if (this.#fresh.length <= this.#options.spareMin / 2) return this.#make()
    this.#refillTimer = setTimeout(() => this.#make(), REFILL_DELAY_MS)
    this.#refillTimer.unref()
  }

  #make(): void {
    this.#making ??= this.#makeUntilEnough().finally(() => {
      this.#making = null
      // Who began to wait after the last look must not be forgotten.
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
        this.#options.logger.warn('network slots could not be made', { error, waiting: this.#waiters.length })
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
        throw new ServiceError('runtime_unavailable', 'No network slot could be made; see the log.')
      for (const slot of slots) this.#hand(slot)
    } catch (error) {
      for (const index of indexes) this.#used.delete(index)
      throw error
    }
  }

  #hand(slot: T): void {
    const waiter = this.#waiters.shift()
    if (waiter) waiter.resolve(slot)
    else this.#fresh.push(slot)
  }

  #missing(): number {
    const { spareMin, spareMax } = this.#options
    const wanted = Math.max(spareMin, Math.min(spareMax, spareMin + this.#worn.length))
    return this.#waiters.length + wanted - this.#fresh.length
  }

  // Numbers go round, so that one that was just given up rests: the kernel takes its interface away a little later.
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
    `All ${SLOTS_MAX} network slots of this host are in use; delete boxes.`,
  )
}

const REFILL_DELAY_MS = 200
const BATCH_MAX = 16
