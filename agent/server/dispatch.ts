import { REFUSAL_HEADER } from '../../shared/auth/channel.ts'
import { asServiceError, problemOf, ServiceError } from '../../shared/errors.ts'
import { type BodyBudget, heldBytes } from '../../shared/http/body-budget.ts'
import { upgradeRequired } from '../../shared/http/handshake.ts'
import {
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  isJsonType,
  jsonResponse,
  parseQuery,
  problemResponse,
  readJson,
} from '../../shared/http/messages.ts'
import { answersBytes, isMutation, type Operation } from '../../shared/operation.ts'
import { piecesByTurns } from '../../shared/pulled-flow.ts'
import { validateRequest } from '../../shared/validate.ts'
import { etagOf, isKnownEtag } from '../core/common/preconditions.ts'
import type { Handlers, ReplayRead, Reply, RequestConditions } from '../handlers/common/call.ts'
import { OWNER_HEADER, PLACED_HEADER } from '../ports/fleet/directory.ts'
import type { LaterPart } from '../ports/store/events.ts'
import type { IdempotencyStore, KeyedAnswer, StoredAnswer } from '../ports/store/idempotency.ts'
import { accountIn, auditMutation, commandIn, refusalOf } from './audit.ts'
import { type RememberedResponse, runOnce } from './idempotency.ts'
import type { Identity } from './identify.ts'
import { bytesUntilEnded, untilEnded } from './open-requests.ts'
import type { Received, ReceptionDeps } from './reception.ts'
import { admit, bytesOwnerOf, flowOf, ownersOf, receive, refuse } from './reception.ts'
import { newFacts, type RequestFacts } from './request-facts.ts'
import type { RequestHead } from './trust.ts'

export interface DispatchDeps extends ReceptionDeps {
  bodies: BodyBudget
  idempotency: IdempotencyStore
  handlers: Handlers
}

/** Creates the HTTP handler, which never rejects: `trust → match → token → validate → handler → audit`. */
export function createDispatch(deps: DispatchDeps): HttpHandler {
  return async (request) => {
    const facts = newFacts(request, deps.clock.now())
    const end = deps.requests.begin(facts)
    try {
      const response = await answer(request, { ...deps, facts })
      // The cell that carries out a request also audits it.
      const isOwn = response.headers[OWNER_HEADER] === undefined
      if (isOwn && facts.operation && isMutation(facts.operation)) auditMutation(facts, response.status, deps)
      end(response.status)
      const headers = { ...response.headers, 'x-request-id': facts.requestId }
      const body = openBody(response.body, facts)
      // Without a token, each source address is an account.
      return { ...response, headers, body, ...(facts.caller && { account: accountIn(facts) }) }
    } catch (error) {
      facts.open?.close()
      const refusal = refusalOf(error, facts, deps)
      end(refusal.status)
      return refusal
    }
  }
}

/** Keeps a request open until all of its answer was read. An answer that streams breaks off when the token ends. */
function openBody(body: HttpResponse['body'], { open }: RequestFacts): HttpResponse['body'] {
  if (open === null) return body
  if (body !== null && typeof body === 'object' && Symbol.asyncIterator in body)
    return bytesUntilEnded(body, open.signal, () => open.close())
  open.close()
  return body
}

/** Answers a request that cannot be carried out for a reason from before the dispatch, as the dispatch would. Never rejects. */
export type Refuse = (request: RequestHead, reason: unknown) => Promise<HttpResponse>

/** Creates the refusal. A client without access learns only that. Audits all, since no other cell has carried out the request. */
export function createRefuse(deps: ReceptionDeps): Refuse {
  return async (request, reason) => {
    const facts = newFacts(request, deps.clock.now())
    const context = { ...deps, facts }
    const end = deps.requests.begin(facts)
    let error = reason
    try {
      await admit(receive(request, context), context)
    } catch (refusal) {
      error = refusal
    } finally {
      facts.open?.close()
    }
    // The dispatch has audited this refusal already.
    const isKnown = error instanceof ServiceError && error.headers[REFUSAL_HEADER] === 'replayed'
    const response = isKnown ? problemResponse(reason, facts.requestId) : refusalOf(error, facts, deps)
    end(response.status)
    return { ...response, headers: { ...response.headers, 'x-request-id': facts.requestId } }
  }
}

type Context = DispatchDeps & { facts: RequestFacts }

async function answer(request: HttpRequest, context: Context): Promise<HttpResponse> {
  const received = receive(request, context)
  const { facts } = context
  const { operation, trusted } = received
  if (operation.transport === 'websocket') throw upgradeRequired()
  // Authenticates before reading a body, unless the body is part of the authentication.
  const identity = trusted.openBody === null ? null : await admit(received, context)
  const isBytes = operation.bytesIn !== null && !isJsonType(trusted.headers['content-type'])
  if (isBytes && trusted.openBody !== null) {
    const owner = bytesOwnerOf(received, facts.caller)
    const sent = piecesByTurns(trusted.openBody(request.openBody()), owner)
    const bytes = facts.open === null ? sent : bytesUntilEnded(sent, facts.open.signal)
    return answerRead({ ...received, request, identity, body: null, bytes }, context)
  }
  const owners = () => ownersOf(received, identity?.caller ?? null)
  const release = context.bodies.hold(owners, heldBytes(request, operation.maxBodyBytes))
  try {
    const body = await request.readBody(operation.maxBodyBytes)
    return await answerRead({ ...received, request, identity, body, bytes: isBytes ? wholeOf(body) : null }, context)
  } finally {
    release()
  }
}

interface ReadRequest extends Received {
  request: HttpRequest
  /** Null before authentication. */
  identity: Identity | null
  /** Null for bytes that are streamed. */
  body: Uint8Array | null
  bytes: AsyncIterable<Uint8Array> | null
}

async function answerRead(read: ReadRequest, context: Context): Promise<HttpResponse> {
  const { body, trusted } = read
  const { facts } = context
  const refusal = body === null ? null : trusted.refuseBody(body)
  if (refusal) throw refuse(refusal, facts, context)
  const identity = read.identity ?? (await admit(read, context))
  const work = context.turns.run(accountIn(facts), (later) => perform({ ...read, identity }, { ...context, later }))
  // A long poll ends with its token. A mutation ends as it would otherwise.
  const answered = facts.open === null || isMutation(read.operation) ? work : untilEnded(facts.open.signal, work)
  if (!answersBytes(read.operation)) return answered
  return { ...(await answered), openFlow: flowOf(read, identity.caller) }
}

type Performing = Context & { later: LaterPart }

async function perform(read: ReadRequest & { identity: Identity }, context: Performing): Promise<HttpResponse> {
  const { request, operation, params, search, body, bytes, trusted } = read
  const { facts, later } = context
  const { headers } = trusted
  const { caller, boxId, enter } = read.identity
  const json = body === null || bytes !== null ? undefined : readJson(body, headers['content-type'])
  const input = validateRequest(operation, { params, query: parseQuery(search), body: json, isBytes: bytes !== null })
  facts.command = commandIn(operation, input)
  const key = operation.method === 'POST' ? idempotencyKeyOf(headers) : null
  const call = {
    ...input,
    ...conditionsOf(headers),
    caller,
    request: {
      ...{ operationId: operation.id, target: read.target, receivedAt: facts.startedAt },
      isPlaced: request.headers[PLACED_HEADER] !== undefined,
    },
    boundBoxId: boxId,
    bytes,
    idempotencyKey: key,
    remember: async (read: ReplayRead): Promise<void> => {
      if (key === null || !facts.caller) return
      const answer = { status: operation.status, headers: JSON_TYPE, body: '', read }
      await context.idempotency.finish(facts.caller.tokenId, key, answer)
    },
    answerOf: (reply: Reply): KeyedAnswer | null => {
      if (key === null || !facts.caller) return null
      const { replay } = answersOf(operation, reply)
      return replay && { token: facts.caller.tokenId, key, answer: replay }
    },
  }
  const work = (): Promise<RememberedResponse> => enter(() => handle(operation, call, context))
  if (key === null || !facts.caller) return (await work()).response
  const keyed = {
    tokenId: facts.caller.tokenId,
    account: accountIn(facts),
    key,
    method: operation.method,
    target: request.target,
    body: body ?? EMPTY,
  }
  const { idempotency, clock } = context
  const finish: IdempotencyStore['finish'] = (...given) => later(() => idempotency.finish(...given))
  const store = { ...idempotency, finish }
  const replay = (answer: StoredAnswer): Promise<StoredAnswer> => readAgain(answer, call, { ...context, operation })
  return runOnce(keyed, { store, clock, read: replay }, () => remembered(work, facts.requestId))
}

async function* wholeOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body
}

async function handle(operation: Operation, call: RequestConditions, context: Performing): Promise<RememberedResponse> {
  const handler = context.handlers[operation.id as keyof Handlers] as (call: unknown) => Promise<Reply>
  const reply = await handler(call)
  const { headers } = headOf(operation, reply)
  const known = call.ifNoneMatch
  if (operation.method === 'GET' && known !== null && headers.etag !== undefined && isKnownEtag(known, headers.etag)) {
    return { response: { status: 304, headers, body: null }, replay: null }
  }
  return context.later(() => answersOf(operation, reply))
}

function headOf(operation: Operation, reply: Reply) {
  const etag = reply.etag ?? (reply.version === undefined ? undefined : etagOf(reply.version))
  const headers: Record<string, string> = { ...reply.headers, ...(etag === undefined ? {} : { etag }) }
  return { status: reply.status ?? operation.status, headers }
}

/** Returns the response, and the answer to store for repeats. */
function answersOf(operation: Operation, reply: Reply): RememberedResponse {
  const { status, headers } = headOf(operation, reply)
  if (reply.bytes !== undefined) return { response: { status, headers, body: reply.bytes }, replay: null }
  if (reply.body === null) {
    return { response: { status, headers, body: null }, replay: { status, headers, body: '' } }
  }
  const response = jsonResponse(status, reply.body, headers)
  // A cookie is a secret, as what `replayBody` leaves out.
  const { 'set-cookie': _secret, ...plain } = headers
  const kept = { status, headers: { 'content-type': 'application/json', ...plain } }
  const { replayRead: read, replayBody = reply.body } = reply
  const body = read !== undefined && read.field === undefined ? '' : JSON.stringify(replayBody)
  return { response, replay: { ...kept, body, ...(read === undefined ? {} : { read }) } }
}

/** Returns the answer with the current result of its read. A whole read also updates its status and headers. */
async function readAgain(
  answer: StoredAnswer,
  call: object,
  { handlers, operation }: Context & { operation: Operation },
): Promise<StoredAnswer> {
  const read = answer.read as ReplayRead
  const handler = handlers[read.operation] as (call: unknown) => Promise<Reply>
  const reading = handler({ ...call, params: read.params, query: read.query, body: undefined })
  if (read.field === undefined) {
    const found = (await reading).body as Resource
    const body = JSON.stringify(found)
    if (read.location === undefined || found['status'] !== 'running')
      return { status: operation.status, headers: JSON_TYPE, body }
    return { status: 202, headers: { ...JSON_TYPE, 'operation-location': read.location }, body }
  }
  const kept = JSON.parse(answer.body) as Resource
  const found = (await reading.catch(noneIfGone))?.body as Resource | undefined
  return found?.id === kept.id
    ? { ...answer, body: JSON.stringify({ ...kept, [read.field]: found[read.field] }) }
    : answer
}

type Resource = { id: string } & Record<string, unknown>

function noneIfGone(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.status !== 404) throw error
}

// Stores refusals of requests that can never succeed. A refusal that depends on state may succeed when repeated.
async function remembered(work: () => Promise<RememberedResponse>, requestId: string): Promise<RememberedResponse> {
  try {
    return await work()
  } catch (error) {
    const known = asServiceError(error)
    const problem = problemOf(known, requestId)
    // A path's target is under the box's control, and may change.
    if (known.status !== 400 || known.code === 'path_invalid') throw error
    const headers = { 'content-type': 'application/problem+json' }
    const replay: StoredAnswer = { status: known.status, headers, body: JSON.stringify(problem) }
    return { response: problemResponse(known, requestId), replay }
  }
}

function idempotencyKeyOf(headers: Record<string, string>): string | null {
  const key = headers['idempotency-key']
  if (key === undefined) return null
  if (key.length >= 1 && key.length <= 255) return key
  const fault = { pointer: '/headers/idempotency-key', detail: 'must be 1–255 characters' }
  throw new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}

const EMPTY = new Uint8Array(0)
const JSON_TYPE = { 'content-type': 'application/json' }

/** Reads the conditions in `headers`, whose names are in lower case. Pure. */
function conditionsOf(headers: Readonly<Record<string, string>>): RequestConditions {
  const maxBytes = ANSWER_BYTES.exec(headers.prefer ?? '')?.[1]
  return {
    ifMatch: headers['if-match'] ?? null,
    ifNoneMatch: headers['if-none-match'] ?? null,
    range: headers.range ?? null,
    accept: headers.accept ?? null,
    lastEventId: headers['last-event-id'] ?? null,
    answerBytesMax: maxBytes === undefined ? null : Number(maxBytes),
  }
}

// A private preference (RFC 7240) with the longest answer that a function can return.
const ANSWER_BYTES = /(?:^|[,; ])answer-bytes-max=(\d{1,15})(?:$|[,; ])/
