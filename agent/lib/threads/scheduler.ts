import { ServiceError } from '../../../shared/errors.ts'
import { SyscallError } from '../syscalls/libc.ts'
import {
  type Failure,
  type FromThread,
  type Pause,
  type Steps,
  type Task,
  type TaskIo,
  type TaskTable,
  type ToThread,
  UNACKED_MAX,
} from './task.ts'

/** The port of a thread, as far as tasks need it. */
export interface TaskPort {
  on(event: 'message', listener: (message: ToThread) => void): unknown
  postMessage(message: FromThread, transfer?: readonly ArrayBuffer[]): void
}

/**
 * Runs the requested tasks concurrently in this one thread. Each runs until it pauses, which it should do after 10 ms. A task without a
 * pause is finished before the next message is handled.
 */
export function serveTasks(port: TaskPort, tasks: TaskTable): void {
  const running = new Map<number, Running>()
  const ready: Running[] = []
  let sliceEnd = 0
  let isScheduled = false

  const step = (task: Running): void => {
    sliceEnd = performance.now() + SLICE_MS
    try {
      const next = task.steps.next()
      if (next.done === true) finish(task, { act: 'done', id: task.id, result: next.value })
      else if (next.value === 'turn') wake(task)
      else task.waitsFor = next.value
    } catch (error) {
      finish(task, { act: 'failed', id: task.id, failure: describeFailure(error) })
    }
  }
  const finish = (task: Running, outcome: FromThread): void => {
    running.delete(task.id)
    port.postMessage(outcome)
  }
  const wake = (task: Running): void => {
    task.waitsFor = null
    ready.push(task)
    if (isScheduled) return
    isScheduled = true
    setImmediate(runNext)
  }
  // Runs one per turn of the event loop, so that new tasks start between two of them.
  const runNext = (): void => {
    const task = ready.shift()
    isScheduled = ready.length > 0
    if (isScheduled) setImmediate(runNext)
    if (task !== undefined && running.has(task.id)) step(task)
  }
  const start = (id: number, name: string, argument: unknown): void => {
    const task: Running = { id, inbox: [], unacked: 0, waitsFor: null, steps: NO_STEPS }
    const io = createIo(task, port, () => performance.now() >= sliceEnd)
    task.steps = (tasks[name] as Task<unknown, unknown>)(io, argument)
    running.set(id, task)
    step(task)
  }
  const deliver = (task: Running, message: ToThread): void => {
    if (message.act === 'message') task.inbox.push(message.value)
    else if (message.act === 'ack') task.unacked--
    else cancel(task)
    if (task.waitsFor !== null) wake(task)
  }
  const cancel = (task: Running): void => {
    try {
      task.steps.return(undefined)
      finish(task, { act: 'done', id: task.id, result: undefined })
    } catch (error) {
      finish(task, { act: 'failed', id: task.id, failure: describeFailure(error) })
    }
  }
  port.on('message', (message) => {
    if (message.act === 'ping') return port.postMessage({ act: 'alive' })
    if (message.act === 'begin') return start(message.id, message.name, message.argument)
    const task = running.get(message.id)
    // The task may have ended while the message was on its way.
    if (task !== undefined) deliver(task, message)
  })
}

interface Running {
  id: number
  steps: Steps<unknown>
  inbox: unknown[]
  unacked: number
  /** Null while it runs or is ready. */
  waitsFor: Exclude<Pause, 'turn'> | null
}

function createIo(task: Running, port: TaskPort, mustPause: () => boolean): TaskIo {
  return {
    mustPause,
    *send(value, transfer = []) {
      while (task.unacked >= UNACKED_MAX) yield 'output'
      task.unacked++
      port.postMessage({ act: 'message', id: task.id, value }, transfer)
    },
    *receive() {
      while (task.inbox.length === 0) yield 'input'
      port.postMessage({ act: 'ack', id: task.id })
      return task.inbox.shift() as never
    },
  }
}

function describeFailure(error: unknown): Failure {
  if (error instanceof ServiceError) {
    const cause = error.cause === undefined ? null : describeFailure(error.cause)
    return { kind: 'service', code: error.code, detail: error.message, cause }
  }
  if (error instanceof SyscallError) return { kind: 'syscall', syscall: error.syscall, errno: error.errno }
  return { kind: 'other', text: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

const SLICE_MS = 10
const NO_STEPS: Steps<unknown> = (function* () {})()
