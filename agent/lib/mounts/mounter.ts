import fs from 'node:fs'
import { Worker } from 'node:worker_threads'
import { closeFd } from '../syscalls/descriptors.ts'
import { SyscallError } from '../syscalls/libc.ts'
import type { NamespaceOutcome, NamespaceTask } from './namespace-mounts.ts'

/** What the thread says to a task, and once before the first. */
export type WorkerAnswer = { outcome: NamespaceOutcome } | { failure: { syscall: string; errno: number } }

/** Mounts and unmounts in the mount namespaces of others, from a thread of its own, one task at a time. */
export interface Mounter {
  /** Starts the thread, so that no task has to wait for it. Success if it runs. */
  open(): Promise<void>
  /**
   * Does a task and closes its descriptors, once nothing can use them any more. Throws a SyscallError of what failed, or an
   * Error if the thread ended or took longer than the time limit: another one takes its place at the next task.
   */
  run(task: NamespaceTask): Promise<NamespaceOutcome>
  /** Ends the thread after the tasks that wait. */
  close(): Promise<void>
}

/** A worker for the mount namespace this process is in. `timeoutMs` bounds each task, by default 10 s. */
export function createMounter({ timeoutMs = 10_000 }: { timeoutMs?: number } = {}): Mounter {
  let current: Promise<Thread> | undefined
  let tail: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = tail.then(work)
    tail = turn.catch(() => undefined)
    return turn
  }
  const running = (): Promise<Thread> => {
    const forget = (): void => {
      if (current === started) current = undefined
    }
    const started = current ?? startThread(timeoutMs, forget)
    current = started
    started.catch(forget)
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

async function startThread(timeoutMs: number, onEnd: () => void): Promise<Thread> {
  // The pool that the file calls of all threads share is made by the first one that makes such a call. If that were one made
  // by the thread below, the pool would go with it into the namespaces of boxes.
  await fs.promises.stat('/')
  const homeFd = fs.openSync('/proc/self/ns/mnt', 'r')
  const worker = new Worker(THREAD, {
    workerData: { homeFd },
    env: {},
    resourceLimits: LIMITS,
    trackUnmanagedFds: false,
  })
  worker.unref()
  let hear: (said: WorkerAnswer | Broken) => void = () => undefined
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      onEnd()
      fs.closeSync(homeFd)
      hear({ broken: new Error('the mount worker ended') })
      resolve()
    })
  })
  worker.on('message', (said: WorkerAnswer) => hear(said))
  worker.once('error', (error) => hear({ broken: error }))
  const answer = (): Promise<WorkerAnswer> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => hear({ broken: new Error('the mount worker took too long') }), timeoutMs)
      hear = (said) => {
        clearTimeout(timer)
        hear = () => undefined
        if (!('broken' in said)) resolve(said)
        else {
          onEnd()
          void worker.terminate()
          reject(new Error('mounting failed', { cause: said.broken }))
        }
      }
    })
  await answer()
  return {
    run: async (task) => {
      worker.postMessage(task)
      let isAnswered = false
      try {
        const said = await answer()
        isAnswered = true
        return outcomeOf(said)
      } finally {
        // Until it is gone it might use them, whatever else is opened under their numbers meanwhile.
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
}

interface Broken {
  broken: unknown
}

const THREAD = new URL('./worker.ts', import.meta.url)
const LIMITS = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 }
