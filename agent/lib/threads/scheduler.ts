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
} from './steps.ts'

/** The port of a thread, as far as tasks need it. */
export interface TaskPort {
  on(event: 'message', listener: (message: ToThread) => void): unknown
  postMessage(message: FromThread, transfer?: readonly ArrayBuffer[]): void
}

/**
 * Runs the tasks that are asked for, many at once in this one thread: each goes on until it pauses, and is asked to after
 * 10 ms. One that needs no pause is done before the next message is looked at.
 */
export function serveTasks(port: TaskPort, tasks: TaskTable): void {
  const running = new Map<number, Running>()
  const ready: Running[] = []
  let sliceEnd = 0
  let isWoken = false

  const go = (task: Running): void => {
    sliceEnd = performance.now() + SLICE_MS
    try {
      const step = task.steps.next()
      if (step.done === true) finish(task, { act: 'done', id: task.id, result: step.value })
      else if (step.value === 'turn') wake(task)
      else task.waitsFor = step.value
    } catch (error) {
      finish(task, { act: 'failed', id: task.id, failure: describeFailure(error) })
    }
  }
  const finish = (task: Running, end: FromThread): void => {
    running.delete(task.id)
    port.postMessage(end)
  }
  const wake = (task: Running): void => {
    task.waitsFor = null
    ready.push(task)
    if (isWoken) return
    isWoken = true
    setImmediate(goOn)
  }
  // One at a time, so that what arrives meanwhile is begun between two of them.
  const goOn = (): void => {
    const task = ready.shift()
    isWoken = ready.length > 0
    if (isWoken) setImmediate(goOn)
    if (task !== undefined && running.has(task.id)) go(task)
  }
  const begin = (id: number, name: string, argument: unknown): void => {
    const task: Running = { id, inbox: [], unheard: 0, waitsFor: null, steps: NO_STEPS }
    const io = createIo(task, port, () => performance.now() >= sliceEnd)
    task.steps = (tasks[name] as Task<unknown, unknown>)(io, argument)
    running.set(id, task)
    go(task)
  }
  const tell = (task: Running, message: ToThread): void => {
    if (message.act === 'say') task.inbox.push(message.value)
    else if (message.act === 'heard') task.unheard--
    else return end(task)
    if (task.waitsFor !== null) wake(task)
  }
  const end = (task: Running): void => {
    try {
      task.steps.return(undefined)
      finish(task, { act: 'done', id: task.id, result: undefined })
    } catch (error) {
      finish(task, { act: 'failed', id: task.id, failure: describeFailure(error) })
    }
  }
  port.on('message', (message) => {
    if (message.act === 'ping') return port.postMessage({ act: 'alive' })
    if (message.act === 'begin') return begin(message.id, message.name, message.argument)
    const task = running.get(message.id)
    // It may have ended while the message was on its way.
    if (task !== undefined) tell(task, message)
  })
}

interface Running {
  id: number
  steps: Steps<unknown>
  inbox: unknown[]
  unheard: number
  /** Null while it is on, or to be put on. */
  waitsFor: Exclude<Pause, 'turn'> | null
}

function createIo(task: Running, port: TaskPort, mustPause: () => boolean): TaskIo {
  return {
    mustPause,
    *say(value, transfer = []) {
      while (task.unheard >= UNACKED_MAX) yield 'output'
      task.unheard++
      port.postMessage({ act: 'said', id: task.id, value }, transfer)
    },
    *hear() {
      while (task.inbox.length === 0) yield 'input'
      port.postMessage({ act: 'heard', id: task.id })
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
