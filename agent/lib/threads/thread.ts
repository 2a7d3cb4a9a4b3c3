import { once } from 'node:events'
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { isErrorCode, ServiceError } from '../../../shared/errors.ts'
import { repeat } from '../../../shared/repeat.ts'
import { programFile } from '../program-files.ts'
import { closeFd } from '../syscalls/descriptors.ts'
import { SyscallError } from '../syscalls/libc.ts'
import { type Failure, type FromThread, type ToThread, UNACKED_MAX } from './task.ts'

/** The starter's side of a task under way. The starter calls `end` once it uses nothing of the task any more. */
export interface TaskChannel<Result, Sent, Received> {
  /** Waits for the next message, in order. Null when the task has ended. Throws the task's error. */
  receive(): Promise<Sent | null>
  /** Sends a message once fewer than `UNACKED_MAX` are unacknowledged. Throws the task's error. Does nothing after its end. */
  send(value: Received, transfer?: readonly ArrayBuffer[]): Promise<void>
  /** Waits for the result. Throws the task's error. */
  result(): Promise<Result>
  /** Cancels the task unless it has ended. Resolves once its resources are released. Never rejects. */
  end(): Promise<void>
  /** Resolves once its resources are released. */
  closed: Promise<void>
}

/** A task to start. Its descriptors are closed once nothing can use them any more. */
export interface TaskStart {
  name: string
  argument: unknown
  fds: readonly number[]
}

/** A running thread. */
export interface FileThread {
  begin(start: TaskStart): TaskChannel<unknown, unknown, unknown>
  /**
   * Fails its tasks with `draining`. Tasks that are not ended by their starters within 2 s end with the thread.
   */
  close(): Promise<void>
}

export interface FileThreadOptions {
  /** Exports `tasks`, a TaskTable. */
  module: URL
  /** Maximum duration of a single step, after which the thread is terminated. */
  timeoutMs: number
  /** Heap limit for its tasks, in MiB. */
  memoryMb: number
  /** Niceness of the thread, 0 to 19, as in nice(1). */
  niceness: number
  /** Called once, when the thread can no longer be used. */
  onEnd(): void
}

/** Starts a thread. Resolves when it takes tasks. */
export async function startFileThread(options: FileThreadOptions): Promise<FileThread> {
  // libuv creates its thread pool, which all threads share, at the first asynchronous file call. This makes that call, because a pool
  // created by the worker would have the worker's root.
  await fs.promises.stat('/')
  const worker = new Worker(THREAD, {
    workerData: { module: options.module.href, niceness: options.niceness },
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: options.memoryMb, maxYoungGenerationSizeMb: 8 },
    trackUnmanagedFds: false,
  })
  worker.unref()
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const thread = new Thread(worker, ended, options)
  await thread.ready
  return thread
}

class Thread implements FileThread {
  readonly ready: Promise<void>
  readonly #worker: Worker
  readonly #ended: Promise<void>
  /** Resolves once it has loaded its code, or has ended. */
  readonly #loaded: Promise<unknown>
  readonly #options: FileThreadOptions
  readonly #channels = new Map<number, Channel>()
  #lastId = 0
  #broken: Error | null = null
  #endWatchdog: (() => void) | undefined
  #isAlive = true
  readonly #rejectReady: (error: Error) => void

  constructor(worker: Worker, ended: Promise<void>, options: FileThreadOptions) {
    this.#worker = worker
    this.#ended = ended
    this.#loaded = Promise.race([once(worker, 'message').catch(() => undefined), ended])
    this.#options = options
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.ready = promise
    worker.on('message', (message: FromThread) => {
      this.#isAlive = true
      if (message.act === 'alive') resolve()
      else this.#channels.get(message.id)?.handle(message)
    })
    worker.once('error', (error: Error) => this.#break(error))
    worker.once('exit', () => this.#break(new Error('the file thread ended')))
    const limitMs = START_FACTOR * options.timeoutMs
    const timer = setTimeout(() => this.#break(new Error('the file thread did not start')), limitMs)
    promise.catch(() => undefined).finally(() => clearTimeout(timer))
    this.#rejectReady = reject
  }

  begin({ name, argument, fds }: TaskStart): TaskChannel<unknown, unknown, unknown> {
    const id = ++this.#lastId
    const channel = new Channel({
      post: (message, transfer) => this.#post({ ...message, id }, transfer),
      onEnd: (isBroken) => {
        this.#channels.delete(id)
        if (this.#channels.size === 0) this.#stopWatchdog()
        // A broken thread may use them until it has exited: closed earlier, their numbers could be reused under it.
        if (isBroken) void this.#ended.then(() => fds.forEach(closeFd))
        else fds.forEach(closeFd)
      },
    })
    this.#channels.set(id, channel)
    if (this.#broken === null) {
      this.#post({ act: 'begin', id, name, argument })
      this.#startWatchdog()
    } else channel.break(this.#broken)
    return channel
  }

  async close(): Promise<void> {
    const channels = [...this.#channels.values()]
    const stopped = new ServiceError('draining', 'The service is shutting down.')
    for (const channel of channels) channel.stop(stopped)
    await Promise.race([Promise.all(channels.map(({ closed: gone }) => gone)), sleep(CLOSE_MS, null, { ref: false })])
    this.#break(new Error('the file thread was closed'))
    await this.#ended
  }

  #post(message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
    if (this.#broken === null) this.#worker.postMessage(message, transfer)
  }

  #startWatchdog(): void {
    const check = (): void => {
      if (!this.#isAlive) return this.#break(new Error('a step of the file thread took too long'))
      this.#isAlive = false
      this.#post({ act: 'ping' })
    }
    const onError = (error: unknown): void =>
      this.#break(new Error('the file thread cannot be asked', { cause: error }))
    this.#endWatchdog ??= repeat(check, { everyMs: this.#options.timeoutMs, onError })
  }

  #stopWatchdog(): void {
    this.#endWatchdog?.()
    this.#endWatchdog = undefined
    this.#isAlive = true
  }

  #break(error: Error): void {
    if (this.#broken !== null) return
    this.#broken = error
    this.#options.onEnd()
    this.#stopWatchdog()
    this.#rejectReady(error)
    // A thread that is terminated while it loads native code aborts the whole process (napi_throw).
    void this.#loaded.then(() => this.#worker.terminate())
    for (const channel of this.#channels.values()) channel.break(error)
  }
}

interface ChannelOptions {
  post(message: ChannelMessage, transfer?: readonly ArrayBuffer[]): void
  onEnd(isBroken: boolean): void
}

type ChannelMessage = { act: 'message'; value: unknown } | { act: 'ack' } | { act: 'end' }

class Channel implements TaskChannel<unknown, unknown, unknown> {
  readonly #options: ChannelOptions
  readonly #inbox: unknown[] = []
  readonly #outcome = Promise.withResolvers<unknown>()
  readonly #closed = Promise.withResolvers<void>()
  readonly closed = this.#closed.promise
  #unacked = 0
  #isSettled = false
  #isClosed = false
  // At most one caller waits on each side.
  #wakeReceiver: () => void = () => undefined
  #wakeSender: () => void = () => undefined

  constructor(options: ChannelOptions) {
    this.#options = options
    this.#outcome.promise.catch(() => undefined)
  }

  async receive(): Promise<unknown> {
    while (this.#inbox.length === 0 && !this.#isSettled) {
      await new Promise<void>((resolve) => {
        this.#wakeReceiver = resolve
      })
    }
    if (this.#inbox.length === 0) {
      await this.#outcome.promise
      return null
    }
    if (!this.#isClosed) this.#options.post({ act: 'ack' })
    return this.#inbox.shift()
  }

  async send(value: unknown, transfer?: readonly ArrayBuffer[]): Promise<void> {
    while (this.#unacked >= UNACKED_MAX && !this.#isSettled) {
      await new Promise<void>((resolve) => {
        this.#wakeSender = resolve
      })
    }
    if (this.#isSettled) {
      await this.#outcome.promise
      return
    }
    this.#unacked++
    this.#options.post({ act: 'message', value }, transfer)
  }

  result(): Promise<unknown> {
    return this.#outcome.promise
  }

  async end(): Promise<void> {
    if (!this.#isClosed) this.#options.post({ act: 'end' })
    await this.closed
  }

  /** Fails the pending calls of the starter, which still has to end the task. */
  stop(error: Error): void {
    this.#settle(() => this.#outcome.reject(error))
  }

  handle(message: Exclude<FromThread, { act: 'alive' }>): void {
    if (message.act === 'ack') {
      this.#unacked--
      this.#wakeSender()
    } else if (message.act === 'message') {
      this.#inbox.push(message.value)
      this.#wakeReceiver()
    } else if (message.act === 'done') this.#finish(() => this.#outcome.resolve(message.result), false)
    else this.#finish(() => this.#outcome.reject(errorOf(message.failure)), false)
  }

  break(error: Error): void {
    this.#finish(() => this.#outcome.reject(error), true)
  }

  #finish(settle: () => void, isBroken: boolean): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#options.onEnd(isBroken)
    this.#settle(settle)
    this.#closed.resolve()
  }

  #settle(settle: () => void): void {
    this.#isSettled = true
    settle()
    this.#wakeReceiver()
    this.#wakeSender()
  }
}

function errorOf(failure: Failure): Error {
  if (failure.kind === 'syscall') return new SyscallError(failure.syscall, failure.errno)
  if (failure.kind === 'other' || !isErrorCode(failure.code))
    return new Error('a task of the file thread failed', { cause: failure })
  const cause = failure.cause === null ? {} : { cause: errorOf(failure.cause) }
  return new ServiceError(failure.code, failure.detail, cause)
}

const THREAD = programFile('agent/lib/threads/worker.ts')
// A slow machine, as during its boot, takes long to load the code.
const START_FACTOR = 6
const CLOSE_MS = 2_000
