import type { ServiceError } from '../../../shared/errors.ts'
import { createListeners } from '../../../shared/listeners.ts'
import type { Logger } from '../../../shared/log.ts'
import { isKubeError, KubeError, unreachableError } from './errors.ts'

/** Keeps a view in step with objects of the cluster, by list and watch. The view may lag, and stays unchanged while that fails. */
export interface Follower {
  /** Starts to follow. Resolves once the view is complete, or at the first failure, which `fault` then returns. */
  start(): Promise<void>
  /** Waits for the first complete list. Throws a KubeError if it fails. */
  synced(): Promise<void>
  /** Calls `listener` when the watch works again after a fault. Returns a function that removes it. */
  onRecovery(listener: () => void): () => void
  /** Returns the start (ms since the epoch) and cause of the current failure. Null while the watch works. */
  fault(): { since: number; error: ServiceError } | null
  close(): void
}

/** A view of objects, which a follower keeps in step. Its methods are called one at a time. */
export interface FollowedView<T> {
  /**
   * Replaces its contents with the whole list, page by page, and returns its version. Fails if the pages fail. The follower then requests
   * the list again.
   */
  replaceAll(pages: AsyncIterable<ObjectPage<T>>): Promise<string>
  /** Takes an object that was added or changed. */
  put(object: T): void
  /** Drops an object that was deleted. `object` has its last state, and the version of the deletion. */
  drop(object: T): void
}

/** A part of a list, with the resourceVersion of the whole. */
export interface ObjectPage<T> {
  items: T[]
  version: string
}

/** API calls that a follower is built on. */
export interface FollowedSource<T> {
  /** Lists the current objects. */
  pages(): AsyncIterable<ObjectPage<T>>
  /** Opens a watch from `version` on and returns its bytes. The server may end it at any time. It fails after a long time without bytes. */
  open(version: string, signal: AbortSignal): Promise<AsyncIterable<Buffer>>
  /**
   * Reads the latest version. If given, it runs before a watch resumes. After a restore of etcd, the server may not have reached the
   * version to resume from, and the watch would stay quiet. Behind a load balancer, only the connection may break during a restore.
   */
  latestVersion?(): Promise<string>
  decode(object: unknown): T
  /** Calls `listener` when the server stops answering. Returns a function that removes it. */
  onLoss(listener: () => void): () => void
  /** Calls `listener` when the server answers again. Returns a function that removes it. */
  onRecovery(listener: () => void): () => void
}

export interface FollowSettings {
  /** The followed objects in the log and in faults, such as `pods`. */
  what: string
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
  /** Wait between attempts, doubled after each failure. */
  waitMs: { min: number; max: number }
}

/** Creates a follower. `start` starts it. */
export function createFollower<T extends Versioned>(
  source: FollowedSource<T>,
  view: FollowedView<T>,
  settings: FollowSettings,
): Follower {
  const follower = new ViewFollower(source, view, settings)
  return {
    start: () => follower.start(),
    synced: () => follower.synced(),
    onRecovery: (listener) => follower.onRecovery(listener),
    fault: () => follower.fault(),
    close: () => follower.close(),
  }
}

/** Metadata that every object of the API has. */
export interface Versioned {
  metadata?: { resourceVersion?: string }
}

class ViewFollower<T extends Versioned> implements Follower {
  readonly #source: FollowedSource<T>
  readonly #view: FollowedView<T>
  readonly #settings: FollowSettings
  readonly #recoveries = createListeners()
  readonly #closing = new AbortController()
  readonly #begun = Promise.withResolvers<void>()
  #fault: { since: number; error: ServiceError } | null = null
  #version: string | null = null
  /** Attempts since the last watch that lasted. */
  #attempts = 0
  #openedAt: number | null = null
  #wake: () => void = () => undefined
  #isRunning = false
  #isComplete = false

  constructor(source: FollowedSource<T>, view: FollowedView<T>, settings: FollowSettings) {
    this.#source = source
    this.#view = view
    this.#settings = settings
  }

  start(): Promise<void> {
    if (!this.#isRunning) void this.#follow()
    this.#isRunning = true
    return this.#begun.promise
  }

  async synced(): Promise<void> {
    await this.#begun.promise
    if (!this.#isComplete)
      throw this.#fault?.error ?? unreachableError(`was not asked for the ${this.#settings.what}`, undefined)
  }

  onRecovery(listener: () => void): () => void {
    return this.#recoveries.add(listener)
  }

  fault(): { since: number; error: ServiceError } | null {
    return this.#fault
  }

  close(): void {
    this.#closing.abort()
    this.#wake()
    this.#begun.resolve()
  }

  async #follow(): Promise<void> {
    for (;;) {
      this.#openedAt = null
      const failure = await this.#followOnce().catch((error: unknown) => ({ error }))
      if (this.#closing.signal.aborted) return
      if (this.#openedAt !== null && performance.now() - this.#openedAt > this.#settings.waitMs.min) this.#attempts = 0
      if (failure) this.#noteFailure(failure.error)
      this.#attempts += 1
      // Retry the first time at once, then pause, so that a server that ends every watch does not cause a busy loop.
      if (this.#attempts > 1) await this.#pause()
    }
  }

  /** Lists if there is no version to resume from, then watches until the watch ends. */
  async #followOnce(): Promise<void> {
    if (this.#version === null || (await this.#isAhead(this.#version))) {
      this.#version = await this.#view.replaceAll(this.#source.pages())
      this.#isComplete = true
    }
    // A hanging server looks like an idle one, so this reopens the watch when another call gets no answer.
    const lost = new AbortController()
    const forget = this.#source.onLoss(() => lost.abort())
    try {
      const signal = AbortSignal.any([this.#closing.signal, lost.signal])
      const body = await this.#source.open(this.#version, signal)
      this.#openedAt = performance.now()
      const isBack = this.#fault !== null
      if (isBack) this.#settings.logger.info(`following the ${this.#settings.what} of the cluster again`)
      this.#fault = null
      this.#begun.resolve()
      if (isBack) this.#recoveries.notify()
      for await (const line of splitLines(body)) this.#takeEvent(line)
    } finally {
      forget()
    }
  }

  /** True if the server has not reached `version` yet, and so sent it in another history. */
  async #isAhead(version: string): Promise<boolean> {
    const latest = await this.#source.latestVersion?.()
    return latest !== undefined && Number(latest) < Number(version)
  }

  #takeEvent(line: Buffer): void {
    const { type, object } = parseEvent(line)
    if (type === 'ERROR') throw errorOf(object, this.#settings.what)
    const decoded = this.#source.decode(object)
    if (type === 'ADDED' || type === 'MODIFIED') this.#view.put(decoded)
    else if (type === 'DELETED') this.#view.drop(decoded)
    // Last, so that an event that could not be applied is requested again.
    this.#version = decoded.metadata?.resourceVersion ?? this.#version
  }

  #noteFailure(error: unknown): void {
    // After one broken connection resume from the same version. After further failures list again, since the server's history may
    // differ from ours, for example after a restore of etcd.
    if (this.#attempts === 0 && !(error instanceof KubeError)) return
    this.#version = null
    if (isKubeError(error, 'expired') && this.#attempts < EXPIRIES_TAKEN) return
    const { what, logger } = this.#settings
    const known = error instanceof KubeError ? error : unreachableError(`ended the watch of the ${what}`, error)
    if (!this.#fault) logger.warn(`failed to follow the ${what} of the cluster`, { error: known })
    this.#fault = { since: this.#fault?.since ?? this.#settings.now(), error: known }
    this.#begun.resolve()
  }

  /** Waits, longer after each failure, but at most until another call of the agent gets an answer again. */
  async #pause(): Promise<void> {
    const { waitMs } = this.#settings
    const ms = Math.min(waitMs.max, waitMs.min * 2 ** (this.#attempts - 2)) * (0.5 + Math.random() / 2)
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    timer.unref()
    const forget = this.#source.onRecovery(resolve)
    this.#wake = resolve
    await promise
    clearTimeout(timer)
    forget()
  }
}

async function* splitLines(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  let bufferedBytes = 0
  for await (const chunk of body) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)])
      pieces = []
      bufferedBytes = 0
      start = end + 1
    }
    pieces.push(chunk.subarray(start))
    bufferedBytes += chunk.length - start
    if (bufferedBytes > EVENT_BYTES_MAX) throw new Error(`An event is longer than ${EVENT_BYTES_MAX} bytes.`)
  }
}

function parseEvent(line: Buffer): { type: string; object: unknown } {
  const event = JSON.parse(line.toString('utf8')) as { type?: unknown; object?: unknown }
  if (typeof event.type !== 'string') throw new Error('An event names no type.')
  return { type: event.type, object: event.object }
}

function errorOf(object: unknown, what: string): KubeError {
  const { code, reason } = (object ?? {}) as { code?: unknown; reason?: unknown }
  const cause = new Error(`The watch ended: ${String(code)} ${String(reason)}`)
  if (code === 410) return new KubeError('expired', 'The cluster no longer knows that version.', { cause })
  return unreachableError(`ended the watch of the ${what} with ${String(code)}`, cause)
}

const NEWLINE = 10
/** Larger than the API server's limit for one object. */
const EVENT_BYTES_MAX = 4 * 1024 ** 2
/** A version from a new list cannot be expired. A server that keeps refusing it is at fault. */
const EXPIRIES_TAKEN = 3
