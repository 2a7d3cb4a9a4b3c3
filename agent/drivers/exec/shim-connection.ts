import { connect, type Socket } from 'node:net'
import { isErrorCode, ServiceError } from '../../../shared/errors.ts'
import { readJsonLines, writeJsonLine } from '../../lib/output/json-lines.ts'
import type { DetachedEnd, SessionFacts } from '../../ports/boxes/runtime.ts'
import {
  type CommandTask,
  type DetachedCommand,
  type DetachedSession,
  LINE_BYTES,
  type SessionTask,
  type ShimMessage,
  type ShimRequest,
} from './shim-protocol.ts'

/** A connection to a shim. */
export interface ShimConnection {
  /** What it held when the connection was made. */
  readonly held: { commands: readonly DetachedCommand[]; sessions: readonly DetachedSession[] }
  /** Resolves with the process in the box once the command runs; what is refused is a ServiceError. */
  start(task: CommandTask): Promise<number | null>
  /** As `start`. */
  open(task: SessionTask): Promise<number | null>
  /** The sessions of a box. */
  sessions(boxId: string): Promise<SessionFacts[]>
  /** Of a command or session. */
  signal(id: string, signal: NodeJS.Signals): Promise<void>
  /** Resolves once it answers. */
  check(): Promise<void>
  /** Says that this process goes; resolves when the shim has let go, after `deadlineMs` at most. */
  leave(deadlineMs: number): Promise<void>
}

/** What a shim tells by itself; `onClose` comes last, once, unless this side left. */
export interface ShimListener {
  /** It does not answer, and would not come to its end by itself; what waits for it is refused once it has. */
  onSilence(): void
  onOutput(execIds: readonly string[]): void
  /** Of a command or session. */
  onEnded(id: string, end: DetachedEnd | null): void
  onClose(): void
}

/** Connects to the shim that listens at `path`; null if there is none. */
export async function connectShim(path: string, listener: ShimListener): Promise<ShimConnection | null> {
  const socket = await tryConnect(path)
  if (socket === null) return null
  const first = Promise.withResolvers<ShimConnection['held'] | null>()
  const { ask, answer, refuseAll } = createQuestions(socket)
  let isLeaving = false
  const take = (message: ShimMessage): void => {
    if (message.type === 'held') first.resolve({ commands: message.commands, sessions: message.sessions ?? [] })
    else if (message.type === 'done' || message.type === 'sessions') answer(message.id)?.resolve(message)
    else if (message.type === 'failed') answer(message.id)?.reject(shimFailureOf(message))
    else if (message.type === 'output') listener.onOutput(message.execIds)
    else if (message.type === 'ended') listener.onEnded(message.execId, message.end)
  }
  // The socket is one that only we can make and enter: what is said there needs no distrust.
  readJsonLines(socket, LINE_BYTES, (value) => take(value as ShimMessage))
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  void closed.then(() => {
    refuseAll()
    first.resolve(null)
  })
  const silence: Late = { deadlineMs: ANSWER_MS, onLate: listener.onSilence }
  const held = await before(first.promise, silence)
  if (held === null) return null
  void closed.then(() => {
    if (!isLeaving) listener.onClose()
  })
  const signal: ShimConnection['signal'] = async (execId, name) => {
    await ask((id) => ({ type: 'signal', id, execId, signal: name }), silence)
  }
  // A signal to nobody.
  const check = (): Promise<void> => signal('', 'SIGCONT')
  // A box can make a start of its own slow; that is no silence, and must not cost the commands of others.
  const slowStart: Late = { deadlineMs: START_MS, onLate: () => void check().catch(() => undefined) }
  const startWith = async (request: (id: number) => ShimRequest): Promise<number | null> => {
    const started = await ask(request, slowStart)
    return started.type === 'done' ? started.process : null
  }
  return {
    held,
    start: (task) => startWith((id) => ({ type: 'start', id, task })),
    open: (task) => startWith((id) => ({ type: 'open', id, task })),
    sessions: async (boxId) => {
      const told = await ask((id) => ({ type: 'sessions', id, boxId }), silence)
      return told.type === 'sessions' ? told.sessions : []
    },
    signal,
    check,
    leave: async (deadlineMs) => {
      isLeaving = true
      writeJsonLine(socket, { type: 'leave' } satisfies ShimRequest)
      const timer = setTimeout(() => socket.destroy(), deadlineMs)
      await closed
      clearTimeout(timer)
    },
  }
}

type Answer = Extract<ShimMessage, { type: 'done' | 'sessions' }>

interface Questions {
  ask(request: (id: number) => ShimRequest, late: Late): Promise<Answer>
  /** Whoever asked the question `id`, who is told once. */
  answer(id: number): Asker | undefined
  /** No answer can come any more. */
  refuseAll(): void
}

interface Asker {
  resolve(answer: Answer): void
  reject(error: unknown): void
}

function createQuestions(socket: Socket): Questions {
  const pending = new Map<number, Asker>()
  let nextId = 1
  const refuseAll = (): void => {
    for (const { reject } of pending.values()) reject(gone())
    pending.clear()
  }
  return {
    ask: async (request, late) => {
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      const id = nextId++
      pending.set(id, { resolve, reject })
      if (socket.destroyed) refuseAll()
      else writeJsonLine(socket, request(id))
      return before(promise, late)
    },
    answer: (id) => {
      const asker = pending.get(id)
      pending.delete(id)
      return asker
    },
    refuseAll,
  }
}

/** A connection to the socket at `path`; null if nobody listens there. */
export function tryConnect(path: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    const fail = (error: NodeJS.ErrnoException): void => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET') resolve(null)
      else reject(error)
    }
    socket.once('error', fail)
    socket.once('connect', () => {
      // What breaks later is told by the close that follows.
      socket.off('error', fail).on('error', () => undefined)
      resolve(socket)
    })
  })
}

/** What happens if there is no answer by then. */
interface Late {
  deadlineMs: number
  onLate(): void
}

async function before<T>(promise: Promise<T>, { deadlineMs, onLate }: Late): Promise<T> {
  const timer = setTimeout(onLate, deadlineMs)
  return promise.finally(() => clearTimeout(timer))
}

/** What a shim refused, as the error to throw. */
export function shimFailureOf({ code, detail }: { code: string | null; detail: string }): Error {
  if (code === 'rate_limited') return new ServiceError(code, detail, { headers: { 'Retry-After': '1' } })
  if (isErrorCode(code)) return new ServiceError(code, detail)
  return new ServiceError('internal', 'The command could not be started; the cause is logged under the request id.', {
    cause: new Error(detail),
  })
}

function gone(): ServiceError {
  return new ServiceError('runtime_unavailable', 'What holds commands ended meanwhile; what it held is lost.')
}

const ANSWER_MS = 15_000
// More than crun may take.
const START_MS = 40_000
