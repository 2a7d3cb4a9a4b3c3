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

/** A control connection to a shim. */
export interface ShimClient {
  /** The commands and sessions it had when this client connected. */
  readonly inventory: { commands: readonly DetachedCommand[]; sessions: readonly DetachedSession[] }
  /** Resolves with the pid in the box once the command runs. Rejects with a ServiceError if the shim refuses it. */
  start(task: CommandTask): Promise<number | null>
  /** Starts a session, as `start` does a command. */
  open(task: SessionTask): Promise<number | null>
  /** Lists the sessions of a box. */
  sessions(boxId: string): Promise<SessionFacts[]>
  /** Signals a command or session. */
  signal(id: string, signal: NodeJS.Signals): Promise<void>
  /** Resolves once the shim answers. */
  check(): Promise<void>
  /** Announces that this agent leaves. Resolves when the shim has closed the connection, or after `deadlineMs`. */
  leave(deadlineMs: number): Promise<void>
}

/** Receives the messages that a shim sends on its own. `onClose` comes last, once, unless this side left. */
export interface ShimListener {
  /** Called when the shim does not answer within its deadline. Pending requests reject once the connection closes. */
  onUnresponsive(): void
  onOutput(execIds: readonly string[]): void
  /** Called at the end of a command or session. */
  onEnded(id: string, end: DetachedEnd | null): void
  onClose(): void
}

/** Connects to the shim that listens at `path`, or returns null if none does. */
export async function connectShim(path: string, listener: ShimListener): Promise<ShimClient | null> {
  const socket = await tryConnect(path)
  if (socket === null) return null
  const first = Promise.withResolvers<ShimClient['inventory'] | null>()
  const { send, take, rejectAll } = createPendingRequests(socket)
  let isLeaving = false
  const onMessage = (message: ShimMessage): void => {
    if (message.type === 'held') first.resolve({ commands: message.commands, sessions: message.sessions ?? [] })
    else if (message.type === 'done' || message.type === 'sessions') take(message.id)?.resolve(message)
    else if (message.type === 'failed') take(message.id)?.reject(shimFailureOf(message))
    else if (message.type === 'output') listener.onOutput(message.execIds)
    else if (message.type === 'ended') listener.onEnded(message.execId, message.end)
  }
  // The socket is 0600, so its peers have this user's rights, and their messages need no validation.
  readJsonLines(socket, LINE_BYTES, (value) => onMessage(value as ShimMessage))
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  void closed.then(() => {
    rejectAll()
    first.resolve(null)
  })
  const unresponsive: Deadline = { ms: ANSWER_MS, onTimeout: listener.onUnresponsive }
  const inventory = await withDeadline(first.promise, unresponsive)
  if (inventory === null) return null
  void closed.then(() => {
    if (!isLeaving) listener.onClose()
  })
  const signal: ShimClient['signal'] = async (execId, name) => {
    await send((id) => ({ type: 'signal', id, execId, signal: name }), unresponsive)
  }
  // A signal to no command serves as a ping.
  const check = (): Promise<void> => signal('', 'SIGCONT')
  // A box can make its own start slow. So this pings the shim past the deadline, and kills it only if it does not answer.
  const startDeadline: Deadline = { ms: START_MS, onTimeout: () => void check().catch(() => undefined) }
  const startWith = async (request: (id: number) => ShimRequest): Promise<number | null> => {
    const started = await send(request, startDeadline)
    return started.type === 'done' ? started.process : null
  }
  return {
    inventory,
    start: (task) => startWith((id) => ({ type: 'start', id, task })),
    open: (task) => startWith((id) => ({ type: 'open', id, task })),
    sessions: async (boxId) => {
      const answer = await send((id) => ({ type: 'sessions', id, boxId }), unresponsive)
      return answer.type === 'sessions' ? answer.sessions : []
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

interface PendingRequests {
  send(request: (id: number) => ShimRequest, deadline: Deadline): Promise<Answer>
  /** Removes and returns the pending request `id`. */
  take(id: number): PendingRequest | undefined
  /** Rejects all pending requests, after the connection has closed. */
  rejectAll(): void
}

interface PendingRequest {
  resolve(answer: Answer): void
  reject(error: unknown): void
}

function createPendingRequests(socket: Socket): PendingRequests {
  const pending = new Map<number, PendingRequest>()
  let nextId = 1
  const rejectAll = (): void => {
    for (const { reject } of pending.values()) reject(shimEnded())
    pending.clear()
  }
  return {
    send: async (request, deadline) => {
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      const id = nextId++
      pending.set(id, { resolve, reject })
      if (socket.destroyed) rejectAll()
      else writeJsonLine(socket, request(id))
      return withDeadline(promise, deadline)
    },
    take: (id) => {
      const request = pending.get(id)
      pending.delete(id)
      return request
    },
    rejectAll,
  }
}

/** Connects to the socket at `path`, or returns null if no process listens there. */
export function tryConnect(path: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    const fail = (error: NodeJS.ErrnoException): void => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET') resolve(null)
      else reject(error)
    }
    socket.once('error', fail)
    socket.once('connect', () => {
      // `close` follows later errors, and has a handler.
      socket.off('error', fail).on('error', () => undefined)
      resolve(socket)
    })
  })
}

/** A deadline in ms, and what to do when it passes. The caller still awaits the promise. */
interface Deadline {
  ms: number
  onTimeout(): void
}

async function withDeadline<T>(promise: Promise<T>, { ms, onTimeout }: Deadline): Promise<T> {
  const timer = setTimeout(onTimeout, ms)
  return promise.finally(() => clearTimeout(timer))
}

/** Turns a refusal of a shim into the error to throw. */
export function shimFailureOf({ code, detail }: { code: string | null; detail: string }): Error {
  if (code === 'rate_limited') return new ServiceError(code, detail, { headers: { 'Retry-After': '1' } })
  if (isErrorCode(code)) return new ServiceError(code, detail)
  return new ServiceError(
    'internal',
    "The command failed to start. Find the cause in the agent's log under the request id.",
    {
      cause: new Error(detail),
    },
  )
}

function shimEnded(): ServiceError {
  return new ServiceError(
    'runtime_unavailable',
    'The shim of the command exited. The state and output of the command are lost.',
  )
}

const ANSWER_MS = 15_000
// More than crun's own timeout.
const START_MS = 40_000
