import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { answerFlow } from '../../shared/answer-flow.ts'
import { ServiceError } from '../../shared/errors.ts'
import { inLoopTurns, type OpenFlow } from '../../shared/flow-turns.ts'
import { type BodyBudget, heldBytes } from '../../shared/http/body-budget.ts'
import { joinSockets } from '../../shared/http/joined-sockets.ts'
import { type HttpHandler, type HttpRequest, type HttpResponse, headerOf } from '../../shared/http/messages.ts'
import { endWithResponse } from '../../shared/http/raw-response.ts'
import type { Logger } from '../../shared/log.ts'
import type { LineBudget } from '../../shared/log-budget.ts'
import { piecesByTurns } from '../../shared/pulled-flow.ts'
import { type FlowOwner, projectOwner } from '../../shared/rotation.ts'
import type { Directory } from '../ports/fleet/directory.ts'
import type { CellLinks, PassedAnswer, PassedRequest, PassedUpgrade } from './cells/cell-links.ts'
import type { CellPatience } from './cells/cell-patience.ts'
import type { Refuse } from './dispatch.ts'
import { awayError, type OwnerCell, type OwnerFinder } from './owner-cell.ts'
import { askerOf, type PassCheck } from './pass-check.ts'
import {
  discard,
  ENTRY_HEADER,
  HANDSHAKE_HEADERS,
  passedHeaders,
  passedResponse,
  passRequest,
  readAlready,
  wholePassedResponse,
} from './passing.ts'
import type { RequestHead } from './trust.ts'

/** An upgrade request, and the bytes that followed its head. */
export interface EnteringUpgrade {
  incoming: IncomingMessage
  socket: Socket
  head: Buffer
}

export interface EntryDeps {
  directory: Pick<Directory, 'cell'>
  owners: OwnerFinder
  links: CellLinks
  cards: StandIn
  patience: CellPatience
  mayPass: PassCheck
  bodies: BodyBudget
  refuse: Refuse
  lines: LineBudget
  logger: Logger
}

/** Answers instead of an owner that cannot be reached. */
export interface StandIn {
  /** Returns true for a request that it can answer. The owner then has some seconds to do so. */
  isTold(request: Pick<RequestHead, 'method' | 'target' | 'headers'>): boolean
  /** Answers a request that failed with `error`, if its caller is authorized. Null: the error stands. */
  answer(request: HttpRequest, failed: { error: unknown; here: HttpHandler }): Promise<HttpResponse | null>
}

/** Routes requests of the functions, which may enter a fleet at any of its agents. */
export interface Entry {
  /** Wraps this cell's own handler. */
  wrap(here: HttpHandler): HttpHandler
  /** Proxies a WebSocket to its owner. False: this cell owns it, and the socket is untouched. Never rejects. */
  passUpgrade(upgrade: EnteringUpgrade, head: RequestHead): Promise<boolean>
  /** Cuts off all that it proxies. */
  close(): Promise<void>
}

/**
 * Creates the router, which proxies each request at most once, unchanged. Its owner verifies the signature of the functions, and that it
 * is not a replay. A cell that another cell asks for what it does not have answers 421. The router then reads the directory and asks the
 * current owner, if it can still send the request. See docs/design/fleet-requests.md.
 */
export function createEntry(deps: EntryDeps): Entry {
  const sockets = new Set<Socket>()
  return {
    wrap: (here) => (request) => enter(request, here, deps),
    passUpgrade: (upgrade, head) => enterUpgrade(upgrade, head, { ...deps, sockets }),
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await deps.links.close()
    },
  }
}

async function enter(request: HttpRequest, here: HttpHandler, deps: EntryDeps): Promise<HttpResponse> {
  try {
    const owner = await findFor(request, deps)
    if (owner === null) return await here(request)
    return owner === 'another' ? misdirected() : await pass(request, { ...deps, owner, here })
  } catch (error) {
    const told = await deps.cards.answer(request, { error, here }).catch(() => null)
    return told ?? (await deps.refuse(request, error))
  }
}

/** Finds the owner. Null: this cell. `another`: another cell, but this request was proxied already and must not be proxied again. */
async function findFor(request: RequestHead, { owners, mayPass }: EntryDeps): Promise<OwnerCell | 'another' | null> {
  const name = owners.foreignName(request.method, request.target)
  if (name === null || !(await mayPass(request, projectOwner(name.project).project))) return null
  const account = askerOf(request, name.project)
  if (request.headers[ENTRY_HEADER] === undefined) return owners.find(name, { isFresh: false, account })
  // Memory may lag behind a move to this cell.
  return (await owners.find(name, { isFresh: true, account })) === null ? null : 'another'
}

async function pass(
  request: HttpRequest,
  deps: EntryDeps & { owner: OwnerCell; here: HttpHandler },
): Promise<HttpResponse> {
  const { bodies, owners, owner, here } = deps
  const length = heldBytes(request, Number.MAX_SAFE_INTEGER)
  const isShort = length <= SHORT_BYTES
  const release = isShort ? bodies.hold(() => [owner.account], length) : () => undefined
  try {
    const body = isShort ? await request.readBody(SHORT_BYTES) : piecesByTurns(request.openBody(), flowOwnerOf(owner))
    const isTold = deps.cards.isTold(request)
    const ask = async ({ name, cell }: OwnerCell): Promise<PassedAnswer> => {
      const asked = isTold
        ? { ...request, signal: boundedSignal(request.signal, deps.patience.of(cell.cell)) }
        : request
      const since = deps.patience.now()
      try {
        const answer = await passRequest(asked, { cell, body, owner: owner.account }, deps)
        if (isTold) deps.patience.noteHeard(cell.cell)
        return answer
      } catch (error) {
        if (error instanceof ServiceError) throw error
        if (isTold && !request.signal.aborted) deps.patience.noteSilence(cell.cell, since)
        throw awayError(name, cell.cell, { cause: error, isChange: request.method !== 'GET' })
      }
    }
    const answer = await askOwner(owner, ask, { owners, isRepeatable: isShort })
    if (answer !== null)
      return isTold
        ? await wholeOf(answer, owner)
        : { ...passedResponse(answer), openFlow: answerFlowOf(owner, answer) }
    return await here({ ...request, ...readAlready(body as Uint8Array), signal: request.signal })
  } finally {
    release()
  }
}

/**
 * Asks the first owner, and if it lacks the resource, the current owner. Null: that is this cell.
 * @throws ServiceError `agent_unavailable` if none has it, or if the owner has changed and it is not `isRepeatable`
 */
async function askOwner<T extends PassedUpgrade>(
  first: OwnerCell,
  ask: (owner: OwnerCell) => Promise<T>,
  { owners, isRepeatable }: Pick<EntryDeps, 'owners'> & { isRepeatable: boolean },
): Promise<T | null> {
  const answer = await ask(first)
  if (!isMisdirected(answer)) return answer
  discard(answer)
  const next = await owners.find(first.name, { isFresh: true, account: first.account })
  if (!isRepeatable || next?.cell.cell === first.cell.cell) throw awayError(first.name, first.cell.cell)
  if (next === null) return null
  const second = await ask(next)
  if (!isMisdirected(second)) return second
  discard(second)
  throw awayError(next.name, next.cell.cell)
}

function isMisdirected(answer: PassedUpgrade): answer is PassedAnswer {
  return 'status' in answer && answer.status === MISDIRECTED
}

async function enterUpgrade(
  upgrade: EnteringUpgrade,
  request: RequestHead,
  deps: EntryDeps & { sockets: Set<Socket> },
): Promise<boolean> {
  const { socket: client, head } = upgrade
  const { sockets } = deps
  sockets.add(client)
  try {
    const owner = await findFor(request, deps)
    if (owner === null) return false
    const opened = owner === 'another' ? null : await openUpgrade(request, { ...deps, first: owner, client })
    if (owner === 'another') endWithResponse(client, misdirected())
    else if (opened === null) return false
    else if ('socket' in opened)
      await join({ client, head, openFlow: inLoopTurns(flowOwnerOf(owner)) }, opened, sockets)
    else endWithResponse(client, await refusalOf(opened, { owner, client }))
  } catch (error) {
    endWithResponse(client, await deps.refuse(request, error))
  } finally {
    // The router does not cut off answers of this cell.
    sockets.delete(client)
  }
  return true
}

/** Opens a WebSocket at its owner. Null: this cell owns it by now. */
async function openUpgrade(
  request: RequestHead,
  { directory, links, owners, first, client }: EntryDeps & { first: OwnerCell; client: Socket },
): Promise<PassedUpgrade | null> {
  const leaving = new AbortController()
  const forget = onLeave(client, () => leaving.abort(new Error('the client left')))
  const headers = { ...passedHeaders(request.headers, HANDSHAKE_HEADERS), [ENTRY_HEADER]: directory.cell }
  const { method, target } = request
  const passed: PassedRequest = {
    method,
    target,
    headers,
    signal: leaving.signal,
    owner: first.account,
  }
  const ask = (owner: OwnerCell): Promise<PassedUpgrade> =>
    links.upgrade(owner.cell.channelUrl, passed).catch((error: unknown) => {
      throw awayError(owner.name, owner.cell.cell, { cause: error, isChange: true })
    })
  try {
    return await askOwner(first, ask, { owners, isRepeatable: true })
  } finally {
    forget()
  }
}

/** Reads the plain answer to an upgrade, which is short, for as long as its client waits, and some seconds at most. */
async function refusalOf(
  answer: PassedAnswer,
  { owner, client }: { owner: OwnerCell; client: Socket },
): Promise<HttpResponse> {
  const end = (): void => void answer.body.destroy(new Error('its answer does not end'))
  const forget = onLeave(client, end)
  const timer = setTimeout(end, REFUSAL_MS)
  try {
    return await wholeOf(answer, owner)
  } finally {
    clearTimeout(timer)
    forget()
  }
}

/** Calls `leave` once the client has closed or ended its side, and takes none of its bytes. Returns a function that stops this. */
function onLeave(client: Socket, leave: () => void): () => void {
  // Only reading reports an end, and the reader would take what comes before it.
  const look = (): void => {
    if (client.readableLength === 0) client.read()
  }
  if (client.destroyed || client.readableEnded) leave()
  client.on('readable', look).once('end', leave).once('close', leave)
  return () => client.off('readable', look).off('end', leave).off('close', leave)
}

async function join(
  entering: { client: Socket; head: Buffer; openFlow: OpenFlow },
  { socket, head, rawHeaders }: Extract<PassedUpgrade, { socket: Socket }>,
  sockets: Set<Socket>,
): Promise<void> {
  const { client } = entering
  const lines: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`)
  client.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`, 'latin1')
  if (head.length > 0) client.write(head)
  if (entering.head.length > 0) socket.write(entering.head)
  sockets.add(socket)
  await joinSockets(client, socket, entering.openFlow)
  sockets.delete(socket)
}

/** Reads a short answer, while the client can still get another one. */
async function wholeOf(answer: PassedAnswer, { name, cell }: OwnerCell): Promise<HttpResponse> {
  return wholePassedResponse(answer, cell.cell).catch((error: unknown) => {
    throw awayError(name, cell.cell, { cause: error })
  })
}

function answerFlowOf(owner: OwnerCell, { headers }: PassedAnswer): OpenFlow {
  return answerFlow(headerOf(headers, 'content-type'), inLoopTurns(flowOwnerOf(owner)))
}

function flowOwnerOf({ account }: OwnerCell): FlowOwner {
  return { project: account, box: '' }
}

function boundedSignal(client: AbortSignal, ms: number): AbortSignal {
  return AbortSignal.any([client, AbortSignal.timeout(ms)])
}

function misdirected(): HttpResponse {
  return { status: MISDIRECTED, headers: {}, body: null }
}

/** RFC 9110, section 15.5.20, where the cell that was asked is not the owner. No client ever sees it. */
const MISDIRECTED = 421
/** Bodies up to this many bytes are held, so that they can be resent. */
const SHORT_BYTES = 256 * 1024
const REFUSAL_MS = 5_000
