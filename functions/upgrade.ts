import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { checkHandshake, noWebSocket } from '../shared/http/handshake.ts'
import { joinSockets } from '../shared/http/joined-sockets.ts'
import { type HostRule, unknownHost } from '../shared/http/known-hosts.ts'
import {
  givenRequestId,
  type HttpResponse,
  headerOf,
  parseQuery,
  problemResponse,
  splitTarget,
} from '../shared/http/messages.ts'
import { endWithResponse, headOf } from '../shared/http/raw-response.ts'
import { requestHead } from '../shared/http/serve.ts'
import type { SourceAddresses } from '../shared/http/source-address.ts'
import { newId } from '../shared/ids.ts'
import type { Operation } from '../shared/operation.ts'
import { validateRequest } from '../shared/validate.ts'
import { protocolError, responseOf } from './agent-answer.ts'
import type { Dial, DialResult } from './agent-dial.ts'
import type { BodyTurns } from './body-turns.ts'
import { type Attempt, sendSigned } from './forward.ts'
import { ownerOf } from './owner.ts'
import {
  auditRefusedRequest,
  type ReceivedHead,
  type Reception,
  type ReceptionOptions,
  receiveRequest,
} from './reception.ts'
import { enterSession } from './session.ts'
import type { Signing } from './signing.ts'
import type { StrangerTurns } from './stranger-turns.ts'

export interface UpgradeOptions extends ReceptionOptions {
  signing: Signing
  dial: Dial
  /** The app's own. */
  turns: BodyTurns
  strangers: StrangerTurns
  sources: SourceAddresses
  /** Which hosts are answered. */
  hosts: Pick<HostRule, 'isKnown' | 'isAuthorized'>
}

/** Proxies the WebSockets of a front. */
export interface Upgrades {
  /** Handles the upgrades of a server that was created with SERVER_OPTIONS. */
  serve(server: Server): void
  /** Counts open WebSockets and pending upgrades. */
  open(): number
  /** Resolves when none is open. Closes consoles at once, because they outlive their clients, and the rest when `signal` aborts. */
  drain(signal: AbortSignal): Promise<void>
}

/**
 * Proxies WebSockets to the agent: match, authenticate, authorize, validate, sign, dial, and then bytes both ways. If the agent
 * answers without an upgrade, passes that answer back.
 */
export function createUpgrades(options: UpgradeOptions): Upgrades {
  /** Client sockets, with true for the sockets of consoles. */
  const clients = new Map<Socket, boolean>()
  let onIdle = (): void => undefined
  const take = async (incoming: IncomingMessage, client: Socket, head: Buffer): Promise<void> => {
    clients.set(client, isConsole(incoming.url))
    client.on('error', () => undefined)
    try {
      await proxyUpgrade({ incoming, client, head }, options)
    } finally {
      clients.delete(client)
      if (clients.size === 0) onIdle()
    }
  }
  return {
    serve: (server) => {
      server.on('upgrade', (incoming: IncomingMessage, _socket: unknown, head: Buffer) => {
        void take(incoming, incoming.socket, head)
      })
    },
    open: () => clients.size,
    drain: async (signal) => {
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve
      })
      const cutOff = (): void => {
        for (const client of clients.keys()) client.destroy()
      }
      for (const [client, isOfConsole] of clients) if (isOfConsole) client.destroy()
      if (signal.aborted) cutOff()
      else signal.addEventListener('abort', cutOff, { once: true })
      if (clients.size > 0) await idle
    },
  }
}

// Decides only by the target, before the agent has accepted.
function isConsole(target: string | undefined): boolean {
  return target !== undefined && splitTarget(target).pathname.endsWith('/console')
}

interface Upgrade {
  incoming: IncomingMessage
  client: Socket
  head: Buffer
}

async function proxyUpgrade({ incoming, client, head }: Upgrade, options: UpgradeOptions): Promise<void> {
  const startedAt = options.now()
  const plain = requestHead(incoming, options.sources)
  const requestId = givenRequestId(plain.headers) ?? newId('req', startedAt)
  const leaving = new AbortController()
  client.once('close', () => leaving.abort(new Error('the client left')))
  const given: ReceivedHead = { ...plain, signal: leaving.signal }
  let request = given
  const context: UpgradeOptions & Reception = {
    ...{ ...options, requestId },
    progress: { startedAt, operation: null, claims: null },
  }
  const refuse = async (refusal: HttpResponse): Promise<void> => {
    const late = await options.strangers.wait(request, context.progress, refusal)
    endWithResponse(client, late === null ? refusal : problemResponse(late, requestId))
  }
  try {
    const unknown = await unknownHost(options.hosts, given)
    if (unknown !== null) throw unknown
    request = (await enterSession(given)).request
    const { operation, owner, dialled } = await dialAgent(request, context)
    if ('status' in dialled) return await refuse(refusalOf(responseOf(dialled, { operation, requestId })))
    if (headerOf(dialled.headers, 'x-request-id') !== requestId) {
      dialled.socket.destroy()
      throw protocolError('it does not answer this request')
    }
    client.write(headOf(101, keptHeaders(dialled.headers)), 'latin1')
    if (dialled.head.length > 0) client.write(dialled.head)
    if (head.length > 0) dialled.socket.write(head)
    await joinSockets(client, dialled.socket, options.turns.openFlow(owner))
  } catch (error) {
    await refuse(problemResponse(auditRefusedRequest(error, request, context), requestId))
  }
}

async function dialAgent(
  request: ReceivedHead,
  context: UpgradeOptions & Reception,
): Promise<{ operation: Operation; owner: string; dialled: DialResult }> {
  const received = await receiveRequest(request, context)
  const { operation, params, search } = received
  if (operation.transport !== 'websocket') throw noWebSocket()
  checkHandshake(request.headers)
  const owner = ownerOf(received, request, context.progress)
  context.turns.note(owner, context.progress.claims !== null)
  await context.turns.run(owner, search.length, () =>
    validateRequest(operation, { params, query: parseQuery(search), body: undefined }),
  )
  const { signing, dial, requestId } = context
  const handshake = handshakeOf(request)
  const attempt = async (): Promise<Attempt<DialResult>> => {
    const signed = signing.sign({ request, operation, requestId, body: NO_BODY })
    return { signed, answer: await dial(signed, handshake, request.signal) }
  }
  return { operation, owner, dialled: await sendSigned(attempt, { signing, requestId, isSafe: false }) }
}

/** Returns the agent's refusal. Throws at a success, which is no valid answer to an upgrade request. */
function refusalOf(response: HttpResponse): HttpResponse {
  if (response.status < 400) throw protocolError(`it answers ${response.status} in the place of a WebSocket`)
  return response
}

function handshakeOf({ headers }: ReceivedHead): Record<string, string> {
  return Object.fromEntries(HANDSHAKE.map((name) => [name, headerOf(headers, name) ?? '']))
}

function keptHeaders(headers: IncomingMessage['headers']): Record<string, string> {
  const kept = KEPT.flatMap((name) => {
    const value = headerOf(headers, name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return { upgrade: 'websocket', connection: 'Upgrade', ...Object.fromEntries(kept) }
}

const NO_BODY = new Uint8Array(0)
const HANDSHAKE = ['sec-websocket-key', 'sec-websocket-version']
const KEPT = ['sec-websocket-accept', 'sec-websocket-protocol', 'x-exec-id', 'x-session-id', 'x-request-id']
