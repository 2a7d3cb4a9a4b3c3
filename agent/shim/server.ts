import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { asServiceError, ServiceError } from '../../shared/errors.ts'
import { refusal } from '../../shared/refusals.ts'
import { LINE_BYTES, SHIM_LIMITS, type ShimMessage, type ShimRequest } from '../drivers/exec/shim-protocol.ts'
import { readJsonLines, writeJsonLine } from '../lib/output/json-lines.ts'
import type { ShimEvents } from './commands.ts'
import type { ShimState } from './state.ts'

export interface ShimServerOptions {
  /** The socket, mode 0600. */
  path: string
  createState(listener: ShimEvents): ShimState
  /** Called once there is neither a command, a session nor an agent. */
  end(): void
}

/** Serves agents and attached clients. Resolves once it listens. */
export async function serveShim({ path, createState, end }: ShimServerOptions): Promise<void> {
  const agents = new Set<Socket>()
  const leaving = new Set<Socket>()
  const broadcast = (message: ShimMessage): void => {
    for (const agent of agents) writeJsonLine(agent, message)
  }
  const notices = createNotices(broadcast, () => [...agents].some((agent) => agent.writableNeedDrain))
  let timer: NodeJS.Timeout | undefined
  const endIfIdle = (): void => {
    if (agents.size > 0 || !state.isIdle()) return
    // An agent that leaves waits for this end. A disconnected one may come back.
    if (leaving.size > 0) end()
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (agents.size === 0 && state.isIdle()) end()
    }, ALONE_MS)
  }
  const state = createState({
    onOutput: notices.add,
    onEnded: (execId, end) => broadcast({ type: 'ended', execId, end }),
    onIdle: endIfIdle,
  })
  const attachServer = createAttachServer(state)
  const serve = (agent: Socket): void => {
    agents.add(agent)
    const [commands, sessions] = [state.commands(), state.sessions()]
    writeJsonLine(agent, { type: 'held', commands, sessions } satisfies ShimMessage)
    agent.on('error', () => undefined)
    agent.on('drain', notices.flush)
    agent.on('close', () => {
      agents.delete(agent)
      leaving.delete(agent)
      endIfIdle()
    })
    // Only our user can connect (mode 0600), so messages are not validated.
    const lines = readJsonLines(agent, LINE_BYTES, (value) => {
      const request = value as ShimRequest
      if (request.type === 'attach') {
        agents.delete(agent)
        void attachServer.accept(request, agent, lines.release())
      } else if (request.type === 'leave') leave(agent)
      else void answer(state, request).then((message) => writeJsonLine(agent, message))
    })
  }
  const leave = (agent: Socket): void => {
    agents.delete(agent)
    leaving.add(agent)
    if (state.commands().length + state.sessions().length > 0) agent.end()
    endIfIdle()
  }
  const server = createServer(serve)
  rmSync(path, { force: true })
  await listenPrivately(server, path)
  endIfIdle()
}

async function answer(state: ShimState, request: Answered): Promise<ShimMessage> {
  const { id } = request
  try {
    if (request.type === 'start') return { type: 'done', id, process: await state.start(request.task) }
    if (request.type === 'open') return { type: 'done', id, process: await state.open(request.task) }
    if (request.type === 'sessions') return { type: 'sessions', id, sessions: state.sessionFacts(request.boxId) }
    await state.signal(request.execId, request.signal)
    return { type: 'done', id, process: null }
  } catch (error) {
    return failureMessage(id, error)
  }
}

type Answered = Exclude<ShimRequest, { type: 'leave' | 'attach' }>

/** Serves the connections of attached clients, to all commands and sessions. */
interface AttachServer {
  /**
   * Attaches the client at `socket`, from which `rest` was read already. Sends the reason of a refusal, and closes the
   * connection.
   */
  accept(request: Extract<ShimRequest, { type: 'attach' }>, socket: Socket, rest: Buffer): Promise<void>
}

function createAttachServer(state: ShimState): AttachServer {
  const sockets = new Set<Socket>()
  return {
    accept: async ({ id, execId, typing }, socket, rest) => {
      const onAccepted = (terminal: boolean): void =>
        writeJsonLine(socket, { type: 'attached', id, terminal } satisfies ShimMessage)
      try {
        if (sockets.size >= SHIM_LIMITS.clients) throw tooMany()
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
        const isAttached = await state.attach(execId, { socket, rest, typing, onAccepted })
        if (!isAttached) throw new ServiceError('exec_not_found', 'The shim holds no command with this id.')
      } catch (error) {
        writeJsonLine(socket, failureMessage(id, error))
        socket.end()
      }
    },
  }
}

function tooMany(): ServiceError {
  return refusal('rate_limited', [
    `${SHIM_LIMITS.clients} clients are attached to commands and sessions already, the most of this agent.`,
    'Try again when some have left.',
  ])
}

/** Builds the answer to a request that failed. */
function failureMessage(id: number, error: unknown): ShimMessage {
  const known = asServiceError(error)
  if (known === error || known.code === 'storage_full')
    return { type: 'failed', id, code: known.code, detail: known.message }
  return { type: 'failed', id, code: null, detail: error instanceof Error ? error.message : String(error) }
}

interface Notices {
  add(execId: string): void
  flush(): void
}

/** Batches notifications of new output. Sends one message each 5 ms at most, and none while an agent does not read. */
function createNotices(broadcast: (message: ShimMessage) => void, isBehind: () => boolean): Notices {
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  const flush = (): void => {
    if (changed.size === 0 || isBehind()) return
    broadcast({ type: 'output', execIds: [...changed] })
    changed.clear()
  }
  return {
    flush,
    add: (execId) => {
      changed.add(execId)
      timer ??= setTimeout(() => {
        timer = null
        flush()
      }, NOTICE_MS)
    },
  }
}

// Sets the umask first, so that the socket is never open to others.
async function listenPrivately(server: Server, path: string): Promise<void> {
  const before = process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(path, resolve)
    })
  } finally {
    process.umask(before)
  }
}

const ALONE_MS = 2_000
const NOTICE_MS = 5
