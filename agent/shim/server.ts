import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { LINE_BYTES, type ShimMessage, type ShimRequest } from '../drivers/exec/shim-protocol.ts'
import { readJsonLines, writeJsonLine } from '../lib/output/json-lines.ts'
import { createAttachServer, failureMessage } from './attach-server.ts'
import type { ShimEvents } from './commands.ts'
import type { ShimState } from './state.ts'

export interface ShimServerOptions {
  /** Of the socket, which only our user may enter. */
  path: string
  createHolding(listener: ShimEvents): ShimState
  /** Called once nothing is held and no agent is there: this process is of no use any more. */
  end(): void
}

/** Serves agents; resolves once it listens. */
export async function serveShim({ path, createHolding, end }: ShimServerOptions): Promise<void> {
  const agents = new Set<Socket>()
  const leaving = new Set<Socket>()
  const tell = (message: ShimMessage): void => {
    for (const agent of agents) writeJsonLine(agent, message)
  }
  const notices = createNotices(tell, () => [...agents].some((agent) => agent.writableNeedDrain))
  let timer: NodeJS.Timeout | undefined
  const endIfIdle = (): void => {
    if (agents.size > 0 || !holding.isIdle()) return
    // One that leaves waits for this; one that is gone comes back perhaps.
    if (leaving.size > 0) end()
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (agents.size === 0 && holding.isIdle()) end()
    }, ALONE_MS)
  }
  const holding = createHolding({
    onOutput: notices.add,
    onEnded: (id, held) => tell({ type: 'ended', execId: id, end: held }),
    onIdle: endIfIdle,
  })
  const viewers = createAttachServer(holding)
  const serve = (agent: Socket): void => {
    agents.add(agent)
    const [commands, sessions] = [holding.commands(), holding.sessions()]
    writeJsonLine(agent, { type: 'held', commands, sessions } satisfies ShimMessage)
    agent.on('error', () => undefined)
    agent.on('drain', notices.flush)
    agent.on('close', () => {
      agents.delete(agent)
      leaving.delete(agent)
      endIfIdle()
    })
    // The socket is one that only we can enter: what is said there needs no distrust.
    const lines = readJsonLines(agent, LINE_BYTES, (value) => {
      const request = value as ShimRequest
      if (request.type === 'attach') {
        agents.delete(agent)
        void viewers.accept(request, agent, lines.release())
      } else if (request.type === 'leave') leave(agent)
      else void answer(holding, request).then((message) => writeJsonLine(agent, message))
    })
  }
  const leave = (agent: Socket): void => {
    agents.delete(agent)
    leaving.add(agent)
    if (holding.commands().length + holding.sessions().length > 0) agent.end()
    endIfIdle()
  }
  const server = createServer(serve)
  rmSync(path, { force: true })
  await listenPrivately(server, path)
  endIfIdle()
}

async function answer(holding: ShimState, request: Answered): Promise<ShimMessage> {
  const { id } = request
  try {
    if (request.type === 'start') return { type: 'done', id, process: await holding.start(request.task) }
    if (request.type === 'open') return { type: 'done', id, process: await holding.open(request.task) }
    if (request.type === 'sessions') return { type: 'sessions', id, sessions: holding.facts(request.boxId) }
    await holding.signal(request.execId, request.signal)
    return { type: 'done', id, process: null }
  } catch (error) {
    return failureMessage(id, error)
  }
}

type Answered = Exclude<ShimRequest, { type: 'leave' | 'attach' }>

interface Notices {
  add(execId: string): void
  flush(): void
}

/** Notices of new output, a few a second for each command however much there is; none while an agent does not read. */
function createNotices(tell: (message: ShimMessage) => void, isBehind: () => boolean): Notices {
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  const flush = (): void => {
    if (changed.size === 0 || isBehind()) return
    tell({ type: 'output', execIds: [...changed] })
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

// The name appears with the rights it is to have.
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
