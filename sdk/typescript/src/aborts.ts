import type { Caller } from './calls.ts'
import type { MessageSocket } from './message-socket.ts'
import { checkId } from './problems.ts'
import { pause } from './retries.ts'
import { unlessAborted } from './unless-aborted.ts'

/** Decides what happens to a command when its signal aborts. `end` stops the command, `detach` leaves it running. */
export type OnAbort = 'end' | 'detach'

/**
 * Wraps a socket so that its signal closes it at once. It then neither receives nor sends, and rejects with the reason. Calls `onAbort`
 * with that reason, unless everything was received before.
 */
export function boundTo(
  socket: MessageSocket,
  signal: AbortSignal | undefined,
  onAbort: () => void = () => undefined,
): MessageSocket {
  if (signal === undefined) return socket
  const release = whenAborted(signal, () => {
    socket.abort(signal.reason)
    onAbort()
  })
  return {
    ...socket,
    send: (message) => unlessAborted(socket.send(message), signal),
    receive: async () => {
      const message = await socket.receive()
      if (message === null) release()
      return message
    },
    close: () => {
      release()
      socket.close()
    },
  }
}

/** Calls `act` as soon as the signal aborts, or at once if it already has. Returns a function that cancels this. */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act, { once: true })
  return () => signal.removeEventListener('abort', act)
}

/** Ends a command. Sends SIGTERM, and kills the rest after 2 s. Resolves within 5 s, and never rejects. */
export async function endExec(
  caller: Caller,
  { project, name, exec }: { project: string; name: string; exec: string },
): Promise<void> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), END_MS)
  const { signal } = late
  try {
    const path = { project, name, exec: checkId(exec) }
    await caller.call('signalExec', { path, body: { signal: 'SIGTERM' }, signal })
    const { status } = await caller.call('getExec', { path, query: { wait_seconds: GRACE_SECONDS }, signal })
    if (status === 'running') await caller.call('signalExec', { path, body: { signal: 'SIGKILL' }, signal })
  } catch {
    // Callers get the abort as the error. The service may be unreachable.
  } finally {
    clearTimeout(timer)
  }
}

/** Ends a command whose start may not be answered yet, as `endExec` does. */
export async function endStarted(
  caller: Caller,
  box: { project: string; name: string },
  started: Promise<{ id: string; status: string }>,
): Promise<void> {
  const over = new AbortController()
  const end = started.then(
    ({ id, status }) => (status === 'running' ? endExec(caller, { ...box, exec: id }) : undefined),
    () => undefined,
  )
  await Promise.race([end, pause(END_MS, over.signal).catch(() => undefined)])
  over.abort()
}

/**
 * Waits until the socket of a command is open, then closes it and ends the command as soon as the signal aborts. If the signal aborts while
 * the socket opens, waits up to 5 s for it.
 */
export async function openEnded(
  caller: Caller,
  box: { project: string; name: string },
  { open, signal }: { open(bound: AbortSignal): Promise<MessageSocket>; signal: AbortSignal },
): Promise<MessageSocket> {
  const end = ({ id }: MessageSocket): void => {
    if (id !== null) void endExec(caller, { ...box, exec: id })
  }
  const late = new AbortController()
  const opening = open(late.signal)
  try {
    const socket = await unlessAborted(opening, signal)
    return boundTo(socket, signal, () => end(socket))
  } catch (error) {
    const timer = setTimeout(() => late.abort(), END_MS)
    const leave = (socket: MessageSocket): void => {
      clearTimeout(timer)
      end(socket)
      socket.close()
    }
    opening.then(leave, () => clearTimeout(timer))
    throw error
  }
}

const GRACE_SECONDS = 2
const END_MS = 5_000
