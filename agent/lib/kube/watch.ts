import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import type { ServiceError } from '../../../shared/errors.ts'
import { createListeners } from '../../../shared/listeners.ts'
import type { Logger } from '../../../shared/log.ts'
import { isKubeError, KubeError, unreachableError } from './errors.ts'

export type PodChange = 'added' | 'modified' | 'deleted'

/** A local view of the pods of a selector, kept by list and watch. It may lag, and keeps its last state while the watch fails. */
export interface PodWatch {
  /** Starts the watch; resolves once the view is complete, or at the first failure, which `fault` then returns. */
  start(): Promise<void>
  /** Waits for the first complete list; throws a KubeError if it fails. */
  synced(): Promise<void>
  /** Returns null if the view has no such pod. */
  get(uid: string): Pod | null
  all(): Pod[]
  /**
   * Calls `listener` for each change. Reports a pod that vanished while the watch failed as deleted, in its last known state. Returns
   * its removal.
   */
  onChange(listener: (pod: Pod, change: PodChange) => void): () => void
  /** Calls `listener` when the watch works again after a fault; returns its removal. */
  onRecovery(listener: () => void): () => void
  /** Returns the start (ms since the epoch) and cause of the current failure; null while the watch works. */
  fault(): { since: number; error: ServiceError } | null
  close(): void
}

/** API calls that a watch is built on. */
export interface PodSource {
  /** Returns the current pods and the resourceVersion of that list. */
  list(): Promise<{ pods: Pod[]; version: string }>
  /** Opens a watch from `version` on and returns its bytes. The server may end it at any time; it fails after a long silence. */
  open(version: string, signal: AbortSignal): Promise<AsyncIterable<Buffer>>
  decode(pod: unknown): Pod
  /** Calls `listener` when the server stops answering; returns its removal. */
  onLoss(listener: () => void): () => void
  /** Calls `listener` when the server answers again; returns its removal. */
  onRecovery(listener: () => void): () => void
}

export interface PodWatchSettings {
  source: PodSource
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
  /** Wait between attempts, doubled after each failure. */
  waitMs: { min: number; max: number }
}

/** Creates a watch; `start` starts it. */
export function createPodWatch(settings: PodWatchSettings): PodWatch {
  return new Watch(settings)
}

class Watch implements PodWatch {
  readonly #settings: PodWatchSettings
  readonly #pods = new Map<string, Pod>()
  readonly #listeners = new Set<(pod: Pod, change: PodChange) => void>()
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

  constructor(settings: PodWatchSettings) {
    this.#settings = settings
  }

  start(): Promise<void> {
    if (!this.#isRunning) void this.#follow()
    this.#isRunning = true
    return this.#begun.promise
  }

  async synced(): Promise<void> {
    await this.#begun.promise
    if (!this.#isComplete) throw this.#fault?.error ?? unreachableError('was not asked for the pods', undefined)
  }

  get(uid: string): Pod | null {
    return this.#pods.get(uid) ?? null
  }

  all(): Pod[] {
    return [...this.#pods.values()]
  }

  onChange(listener: (pod: Pod, change: PodChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
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
    const { source, logger } = this.#settings
    if (this.#version === null) {
      const { pods, version } = await source.list()
      this.#replaceAll(pods)
      this.#version = version
      this.#isComplete = true
    }
    // A hanging server looks like an idle one: reopen the watch when another call gets no answer.
    const lost = new AbortController()
    const forget = source.onLoss(() => lost.abort())
    try {
      const body = await source.open(this.#version, AbortSignal.any([this.#closing.signal, lost.signal]))
      this.#openedAt = performance.now()
      const isBack = this.#fault !== null
      if (isBack) logger.info('the pods of the cluster are followed again')
      this.#fault = null
      this.#begun.resolve()
      if (isBack) this.#recoveries.notify()
      for await (const line of splitLines(body)) this.#takeEvent(line)
    } finally {
      forget()
    }
  }

  #takeEvent(line: Buffer): void {
    const { type, object } = parseEvent(line)
    if (type === 'ERROR') throw errorOf(object)
    const pod = this.#settings.source.decode(object)
    if (type === 'ADDED' || type === 'MODIFIED') this.#put(pod)
    else if (type === 'DELETED') this.#drop(pod)
    // Last, so that an event that could not be applied is requested again.
    this.#version = pod.metadata?.resourceVersion ?? this.#version
  }

  #replaceAll(pods: readonly Pod[]): void {
    const uids = new Set(pods.map(uidOf))
    for (const pod of this.all()) if (!uids.has(uidOf(pod))) this.#drop(pod)
    for (const pod of pods) this.#put(pod)
  }

  #put(pod: Pod): void {
    const known = this.#pods.get(uidOf(pod))
    if (known && known.metadata?.resourceVersion === pod.metadata?.resourceVersion) return
    this.#pods.set(uidOf(pod), pod)
    this.#notify(pod, known ? 'modified' : 'added')
  }

  #drop(pod: Pod): void {
    if (this.#pods.delete(uidOf(pod))) this.#notify(pod, 'deleted')
  }

  #notify(pod: Pod, change: PodChange): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(pod, change)
      } catch (error) {
        this.#settings.logger.error('a change of a pod was not taken', { pod: pod.metadata?.name, change, error })
      }
    }
  }

  #noteFailure(error: unknown): void {
    // After one broken connection resume from the same version. After further failures list again, since the server's history may
    // differ from ours, for example after a restore of etcd.
    if (this.#attempts === 0 && !(error instanceof KubeError)) return
    this.#version = null
    if (isKubeError(error, 'expired') && this.#attempts < EXPIRIES_TAKEN) return
    const known = error instanceof KubeError ? error : unreachableError('ended the watch of the pods', error)
    if (!this.#fault) this.#settings.logger.warn('the pods of the cluster cannot be followed', { error: known })
    this.#fault = { since: this.#fault?.since ?? this.#settings.now(), error: known }
    this.#begun.resolve()
  }

  /** Waits, longer after each failure, but at most until another call of the agent gets an answer again. */
  async #pause(): Promise<void> {
    const { waitMs, source } = this.#settings
    const ms = Math.min(waitMs.max, waitMs.min * 2 ** (this.#attempts - 2)) * (0.5 + Math.random() / 2)
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    timer.unref()
    const forget = source.onRecovery(resolve)
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

function errorOf(object: unknown): KubeError {
  const { code, reason } = (object ?? {}) as { code?: unknown; reason?: unknown }
  const cause = new Error(`The watch ended: ${String(code)} ${String(reason)}`)
  if (code === 410) return new KubeError('expired', 'The cluster no longer knows that version.', { cause })
  return unreachableError(`ended the watch of the pods with ${String(code)}`, cause)
}

function uidOf(pod: Pod): string {
  return pod.metadata?.uid ?? ''
}

const NEWLINE = 10
/** Larger than the API server's limit for one object. */
const EVENT_BYTES_MAX = 4 * 1024 ** 2
/** A version from a new list cannot be expired: a server that keeps refusing it is at fault. */
const EXPIRIES_TAKEN = 3
