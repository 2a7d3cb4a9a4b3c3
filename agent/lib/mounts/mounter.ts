import { once } from 'node:events'
import fs from 'node:fs'
import { Worker } from 'node:worker_threads'
import { programFile } from '../program-files.ts'
import { closeFd } from '../syscalls/descriptors.ts'
import { SyscallError } from '../syscalls/libc.ts'
import type { NamespaceOutcome, NamespaceTask } from './namespace-mounts.ts'

/** Reply of the thread to each task, and once at its start. */
export type WorkerAnswer = { outcome: NamespaceOutcome } | { failure: { syscall: string; errno: number } }

/** Mounts and unmounts in other processes' mount namespaces, in a thread of its own, one task at a time. */
export interface Mounter {
  /** Starts the thread ahead of the first task. Does nothing if it runs. */
  open(): Promise<void>
  /**
   * Runs a task and closes its descriptors once nothing can use them any more. Throws the SyscallError of the failed call, or an
   * Error if the thread ended or exceeded the time limit. The next task then starts a new thread.
   */
  run(task: NamespaceTask): Promise<NamespaceOutcome>
  /** Ends the thread after the queued tasks. */
  close(): Promise<void>
}

/**
 * Creates a mounter that returns to the mount namespace of this process after each task. `timeoutMs` bounds each task, by default 10 s,
 * and the first start of the thread. Each further try gets twice the time.
 */
export function createMounter({ timeoutMs = 10_000 }: { timeoutMs?: number } = {}): Mounter {
  let current: Promise<Thread> | undefined
  let tail: Promise<unknown> = Promise.resolve()
  let failedStarts = 0
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = tail.then(work)
    tail = turn.catch(() => undefined)
    return turn
  }
  const running = (): Promise<Thread> => {
    const forget = (): void => {
      if (current === started) current = undefined
    }
    if (current !== undefined) return current
    // A slow machine, as during its boot, gets more time with each try.
    const startMs = Math.min(timeoutMs * 2 ** failedStarts, MAX_START_MS)
    const started = startThread({ startMs, timeoutMs }, forget)
    current = started
    started.then(
      () => {
        failedStarts = 0
      },
      () => {
        failedStarts++
        forget()
      },
    )
    return started
  }
  return {
    open: () =>
      inTurn(async () => {
        await running()
      }),
    run: (task) =>
      inTurn(async () => {
        let thread: Thread
        try {
          thread = await running()
        } catch (error) {
          closeTaskFds(task)
          throw error
        }
        return thread.run(task)
      }),
    close: () =>
      inTurn(async () => {
        const thread = await current?.catch(() => undefined)
        await thread?.end()
      }),
  }
}

interface Thread {
  run(task: NamespaceTask): Promise<NamespaceOutcome>
  end(): Promise<void>
}

async function startThread(
  { startMs, timeoutMs }: { startMs: number; timeoutMs: number },
  onEnd: () => void,
): Promise<Thread> {
  // libuv creates its thread pool, which all threads share, at the first asynchronous file call. This makes that call, because a pool
  // created by the worker would follow it into the namespaces of boxes.
  await fs.promises.stat('/')
  const homeFd = fs.openSync('/proc/self/ns/mnt', 'r')
  const worker = new Worker(THREAD, {
    workerData: { homeFd },
    env: {},
    resourceLimits: LIMITS,
    trackUnmanagedFds: false,
  })
  worker.unref()
  let onReply: (reply: WorkerAnswer | Broken) => void = () => undefined
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      onEnd()
      fs.closeSync(homeFd)
      onReply({ broken: new Error('the mount worker ended') })
      resolve()
    })
  })
  // A thread that is terminated while it loads native code aborts the whole process (napi_throw).
  const loaded = Promise.race([once(worker, 'message').catch(() => undefined), ended])
  worker.on('message', (reply: WorkerAnswer) => onReply(reply))
  worker.once('error', (error: Error) => onReply({ broken: error }))
  const answer = (limitMs: number): Promise<WorkerAnswer> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => onReply({ broken: new Error('the mount worker took too long') }), limitMs)
      onReply = (reply) => {
        clearTimeout(timer)
        onReply = () => undefined
        if (!('broken' in reply)) resolve(reply)
        else {
          onEnd()
          void loaded.then(() => worker.terminate())
          // Where it passes through another program, only its message remains.
          reject(new Error(`mounting failed: ${reply.broken.message}`, { cause: reply.broken }))
        }
      }
    })
  await answer(startMs)
  return {
    run: async (task) => {
      worker.postMessage(task)
      let isAnswered = false
      try {
        const reply = await answer(timeoutMs)
        isAnswered = true
        return outcomeOf(reply)
      } finally {
        // A broken thread may use them until it has exited: closed earlier, their numbers could be reused under it.
        if (isAnswered) closeTaskFds(task)
        else void ended.then(() => closeTaskFds(task))
      }
    },
    end: async () => {
      await worker.terminate()
      await ended
    },
  }
}

function outcomeOf(answer: WorkerAnswer): NamespaceOutcome {
  if ('outcome' in answer) return answer.outcome
  throw new SyscallError(answer.failure.syscall, answer.failure.errno)
}

function closeTaskFds(task: NamespaceTask): void {
  closeFd(task.namespaceFd)
  if (task.act === 'attach' || task.act === 'root') closeFd(task.treeFd)
  if (task.act === 'root') for (const { fd } of task.files) closeFd(fd)
  if (task.act === 'cover') for (const { fd } of task.covers) if (fd !== null) closeFd(fd)
}

interface Broken {
  broken: Error
}

const THREAD = programFile('agent/lib/mounts/worker.ts')
const MAX_START_MS = 160_000
const LIMITS = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 }
