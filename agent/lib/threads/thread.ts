import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { isErrorCode, ServiceError } from '../../../shared/errors.ts'
import { closeFd } from '../syscalls/descriptors.ts'
import { SyscallError } from '../syscalls/libc.ts'
import { type Failure, type FromThread, type ToThread, UNACKED_MAX } from './steps.ts'

/** A task under way, as whoever began it sees it, and ends it when nothing of it is used any more. */
export interface TaskChannel<Result, Said, Heard> {
  /** What the task says next, in order; null when it has ended. Throws what it failed of. */
  next(): Promise<Said | null>
  /** Tells the task, once it has heard all but a few of what was said before. Throws what it failed of; never after its end. */
  say(value: Heard, transfer?: readonly ArrayBuffer[]): Promise<void>
  /** What came of it. */
  result(): Promise<Result>
  /** Ends the task where it is, if it has not ended; resolves when nothing of it is left. Never rejects. */
  end(): Promise<void>
  /** When nothing of it is left. */
  gone: Promise<void>
}

/** What is begun with descriptors has them closed, once nothing can use them any more. */
export interface TaskStart {
  name: string
  argument: unknown
  fds: readonly number[]
}

/** A thread that runs. */
export interface FileThread {
  begin(start: TaskStart): TaskChannel<unknown, unknown, unknown>
  /**
   * Stops its tasks: whoever began one is told `draining`. Those that are not ended within 2 s go with the thread, and leave
   * their descriptors open: they may be in use, and their numbers must not be given away.
   */
  close(): Promise<void>
}

export interface FileThreadOptions {
  /** Exports `tasks`, a TaskTable. */
  module: URL
  /** How long a single step may take before the thread is given up. */
  timeoutMs: number
  /** How much its tasks may hold, in MiB. */
  memoryMb: number
  /** Called once, when it can be used no more. */
  onEnd(): void
}

/** Starts a thread; resolves when it serves. */
export async function startFileThread(options: FileThreadOptions): Promise<FileThread> {
  // The pool that the file calls of all threads share is made by the first one that makes such a call. If that were one made
  // by the thread below, the pool would have its root.
  await fs.promises.stat('/')
  const worker = new Worker(THREAD, {
    workerData: { module: options.module.href },
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
  readonly #options: FileThreadOptions
  readonly #talks = new Map<number, Talk>()
  #lastId = 0
  #broken: Error | null = null
  #watch: NodeJS.Timeout | undefined
  #isAlive = true
  readonly #refuse: (error: Error) => void

  constructor(worker: Worker, ended: Promise<void>, options: FileThreadOptions) {
    this.#worker = worker
    this.#ended = ended
    this.#options = options
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.ready = promise
    worker.on('message', (said: FromThread) => {
      this.#isAlive = true
      if (said.act === 'alive') resolve()
      else this.#talks.get(said.id)?.hear(said)
    })
    worker.once('error', (error: Error) => this.#break(error))
    worker.once('exit', () => this.#break(new Error('the file thread ended')))
    const timer = setTimeout(() => this.#break(new Error('the file thread did not start')), options.timeoutMs)
    promise.catch(() => undefined).finally(() => clearTimeout(timer))
    this.#refuse = reject
  }

  begin({ name, argument, fds }: TaskStart): TaskChannel<unknown, unknown, unknown> {
    const id = ++this.#lastId
    const talk = new Talk({
      post: (message, transfer) => this.#post({ ...message, id }, transfer),
      onEnd: (wasBroken) => {
        this.#talks.delete(id)
        if (this.#talks.size === 0) this.#stopWatching()
        // Until it is gone it might use them, whatever else is opened under their numbers meanwhile.
        if (wasBroken) void this.#ended.then(() => fds.forEach(closeFd))
        else fds.forEach(closeFd)
      },
    })
    this.#talks.set(id, talk)
    if (this.#broken === null) {
      this.#post({ act: 'begin', id, name, argument })
      this.#startWatching()
    } else talk.break(this.#broken)
    return talk
  }

  async close(): Promise<void> {
    const talks = [...this.#talks.values()]
    const stopped = new ServiceError('draining', 'The service is stopping.')
    for (const talk of talks) talk.stop(stopped)
    await Promise.race([Promise.all(talks.map(({ gone }) => gone)), sleep(CLOSE_MS, null, { ref: false })])
    this.#break(new Error('the file thread was closed'))
    await this.#ended
  }

  #post(message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
    if (this.#broken === null) this.#worker.postMessage(message, transfer)
  }

  #startWatching(): void {
    this.#watch ??= setInterval(() => {
      if (!this.#isAlive) return this.#break(new Error('a step of the file thread took too long'))
      this.#isAlive = false
      this.#post({ act: 'ping' })
    }, this.#options.timeoutMs).unref()
  }

  #stopWatching(): void {
    clearInterval(this.#watch)
    this.#watch = undefined
    this.#isAlive = true
  }

  #break(error: Error): void {
    if (this.#broken !== null) return
    this.#broken = error
    this.#options.onEnd()
    this.#stopWatching()
    this.#refuse(error)
    void this.#worker.terminate()
    for (const talk of this.#talks.values()) talk.break(error)
  }
}

interface TalkOptions {
  post(message: Unaddressed, transfer?: readonly ArrayBuffer[]): void
  onEnd(wasBroken: boolean): void
}

type Unaddressed = { act: 'say'; value: unknown } | { act: 'heard' } | { act: 'end' }

class Talk implements TaskChannel<unknown, unknown, unknown> {
  readonly #options: TalkOptions
  readonly #said: unknown[] = []
  readonly #outcome = Promise.withResolvers<unknown>()
  readonly #gone = Promise.withResolvers<void>()
  readonly gone = this.#gone.promise
  #unheard = 0
  #isOver = false
  #hasEnded = false
  // Whoever waits for a change, of which there is one at a time on each side.
  #wakeReader: () => void = () => undefined
  #wakeSpeaker: () => void = () => undefined

  constructor(options: TalkOptions) {
    this.#options = options
    this.#outcome.promise.catch(() => undefined)
  }

  async next(): Promise<unknown> {
    while (this.#said.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve
      })
    }
    if (this.#said.length === 0) {
      await this.#outcome.promise
      return null
    }
    if (!this.#hasEnded) this.#options.post({ act: 'heard' })
    return this.#said.shift()
  }

  async say(value: unknown, transfer?: readonly ArrayBuffer[]): Promise<void> {
    while (this.#unheard >= UNACKED_MAX && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wakeSpeaker = resolve
      })
    }
    if (this.#isOver) {
      await this.#outcome.promise
      return
    }
    this.#unheard++
    this.#options.post({ act: 'say', value }, transfer)
  }

  result(): Promise<unknown> {
    return this.#outcome.promise
  }

  async end(): Promise<void> {
    if (!this.#hasEnded) this.#options.post({ act: 'end' })
    await this.gone
  }

  /** Tells whoever began it that it is over; it is still to be ended. */
  stop(error: Error): void {
    this.#settle(() => this.#outcome.reject(error))
  }

  hear(said: Exclude<FromThread, { act: 'alive' }>): void {
    if (said.act === 'heard') {
      this.#unheard--
      this.#wakeSpeaker()
    } else if (said.act === 'said') {
      this.#said.push(said.value)
      this.#wakeReader()
    } else if (said.act === 'done') this.#finish(() => this.#outcome.resolve(said.result), false)
    else this.#finish(() => this.#outcome.reject(errorOf(said.failure)), false)
  }

  break(error: Error): void {
    this.#finish(() => this.#outcome.reject(error), true)
  }

  #finish(settle: () => void, wasBroken: boolean): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#options.onEnd(wasBroken)
    this.#settle(settle)
    this.#gone.resolve()
  }

  #settle(settle: () => void): void {
    this.#isOver = true
    settle()
    this.#wakeReader()
    this.#wakeSpeaker()
  }
}

function errorOf(failure: Failure): Error {
  if (failure.kind === 'syscall') return new SyscallError(failure.syscall, failure.errno)
  if (failure.kind === 'other' || !isErrorCode(failure.code))
    return new Error('a task of the file thread failed', { cause: failure })
  const cause = failure.cause === null ? {} : { cause: errorOf(failure.cause) }
  return new ServiceError(failure.code, failure.detail, cause)
}

const THREAD = new URL('./worker.ts', import.meta.url)
const CLOSE_MS = 2_000
