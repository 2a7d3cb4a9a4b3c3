import { type Acceptance, bodyRefusal, type Refusal, refusalError, type Verifier } from '../../shared/channel.ts'
import { asServiceError, problemOf, ServiceError } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { matchOperation } from '../../shared/match.ts'
import {
  bearerToken,
  givenRequestId,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  problemResponse,
  readJson,
  splitTarget,
} from '../../shared/messages.ts'
import type { Operation } from '../../shared/operation.ts'
import { authorize, type TokenVerifier } from '../../shared/tokens.ts'
import { validateRequest } from '../../shared/validate.ts'
import type { Caller } from '../core/caller.ts'
import { etagOf, isKnownEtag } from '../core/preconditions.ts'
import type { RateLimit } from '../core/rate-limit.ts'
import type { Handlers, ReplayRead, Reply } from '../handlers/call.ts'
import type { Clock } from '../ports/clock.ts'
import type { IdempotencyStore, StoredAnswer } from '../ports/store.ts'
import { auditDenial, auditMutation } from './audit.ts'
import type { BodyBudget } from './body-budget.ts'
import { type RememberedResponse, runOnce } from './idempotency.ts'
import { newFacts, type RequestFacts } from './request-facts.ts'

export interface DispatchDeps {
  verifySignature: Verifier
  verifyToken: TokenVerifier
  /** @throws ServiceError for a token that was revoked */
  checkAlive(tokenId: string): Promise<void>
  rateLimit: RateLimit
  bodies: BodyBudget
  idempotency: IdempotencyStore
  handlers: Handlers
  isDraining(): boolean
  clock: Clock
  logger: Logger
}

/** Every request of the functions: verify → match → token → validate → handler → audit. It answers its own errors. */
export function createDispatch(deps: DispatchDeps): HttpHandler {
  return async (request) => {
    const facts = newFacts(request, deps.clock.now())
    try {
      const accepted = deps.verifySignature(request)
      if (!accepted.isAccepted) throw refuse(accepted, facts, deps.logger)
      const response = await answer(request, { ...deps, accepted, facts })
      if (facts.operation && facts.operation.method !== 'GET') auditMutation(facts, response.status, deps)
      return { ...response, headers: { ...response.headers, 'x-request-id': facts.requestId } }
    } catch (error) {
      const known = asServiceError(error)
      if (isFault(known)) deps.logger.error('request failed', { request_id: facts.requestId, error })
      auditDenial(facts, known, deps)
      return problemResponse(known, facts.requestId)
    }
  }
}

type Context = DispatchDeps & { accepted: Acceptance; facts: RequestFacts }

async function answer(request: HttpRequest, context: Context): Promise<HttpResponse> {
  const { accepted, facts, bodies } = context
  facts.requestId = givenRequestId(accepted.headers) ?? facts.requestId
  facts.clientAddress = accepted.headers['x-boxyard-client-address'] ?? ''
  const { pathname, query } = splitTarget(request.target)
  const { operation, params } = matchOperation(request.method, pathname)
  facts.operation = operation
  const giveBack = bodies.hold(Math.min(bodyBytes(request), operation.maxBodyBytes))
  try {
    const body = await request.readBody(operation.maxBodyBytes)
    return await answerRead({ request, operation, params, query, body }, context)
  } finally {
    giveBack()
  }
}

interface ReadRequest {
  request: HttpRequest
  operation: Operation
  params: Record<string, string>
  query: URLSearchParams
  body: Uint8Array
}

async function answerRead(read: ReadRequest, context: Context): Promise<HttpResponse> {
  const { request, operation, params, query, body } = read
  const { accepted, facts, logger, rateLimit, isDraining } = context
  if (!accepted.matchesBody(body)) throw refuse(bodyRefusal(accepted), facts, logger)
  facts.caller = await identify(operation, params, context)
  rateLimit(facts.caller?.tokenId ?? `anonymous:${facts.clientAddress}`)
  if (isDraining() && operation.method !== 'GET') {
    throw new ServiceError('draining', 'The agent is being stopped; boxes go on running.', {
      headers: { 'Retry-After': '2' },
    })
  }
  const input = validateRequest(operation, { params, query, body: readJson(body, accepted.headers['content-type']) })
  const key = operation.method === 'POST' ? idempotencyKeyOf(accepted.headers) : null
  const call = {
    ...input,
    caller: facts.caller,
    ifMatch: accepted.headers['if-match'] ?? null,
    idempotencyKey: key,
    remember: async (read: ReplayRead): Promise<void> => {
      if (key === null || !facts.caller) return
      const answer = { status: operation.status, headers: JSON_TYPE, body: '', read }
      await context.idempotency.finish(facts.caller.tokenId, key, answer)
    },
  }
  const work = (): Promise<RememberedResponse> => perform(operation, call, context)
  if (key === null || !facts.caller) return (await work()).response
  const keyed = { tokenId: facts.caller.tokenId, key, method: operation.method, target: request.target, body }
  const { idempotency: store, clock } = context
  const replay = (what: unknown): Promise<string> => readAgain(what as ReplayRead, call, context)
  return runOnce(keyed, { store, clock, read: replay }, () => remembered(work, facts.requestId))
}

// One that does not tell its length may be as long as any.
function bodyBytes({ headers }: HttpRequest): number {
  const isUntold = headers['content-length'] === undefined && headers['transfer-encoding'] !== undefined
  return isUntold ? Number.POSITIVE_INFINITY : Number(headers['content-length'] ?? 0)
}

async function identify(
  operation: Operation,
  params: Record<string, string>,
  context: Context,
): Promise<Caller | null> {
  const { accepted, verifyToken, checkAlive, facts } = context
  const token = bearerToken(accepted.headers)
  if (operation.permission === null && accepted.headers.authorization === undefined) return null
  const claims = await verifyToken(token)
  const caller: Caller = {
    tokenId: claims.jti,
    tokenName: claims.sub,
    projects: claims.projects,
    permissions: claims.permissions,
    expiresAt: claims.exp === null ? null : claims.exp * 1000,
    requestId: facts.requestId,
  }
  facts.caller = caller
  await checkAlive(claims.jti)
  authorize(operation, params, claims)
  return caller
}

async function perform(operation: Operation, call: unknown, context: Context): Promise<RememberedResponse> {
  const handler = context.handlers[operation.id as keyof Handlers] as (call: unknown) => Promise<Reply>
  const reply = await handler(call)
  const status = reply.status ?? operation.status
  const headers = { ...reply.headers, ...(reply.version === undefined ? {} : { etag: etagOf(reply.version) }) }
  const known = context.accepted.headers['if-none-match']
  const isKnown = operation.method === 'GET' && known !== undefined && reply.version !== undefined
  if (isKnown && isKnownEtag(known, etagOf(reply.version ?? 0))) {
    return { response: { status: 304, headers, body: null }, replay: null }
  }
  if (reply.body === null) {
    return { response: { status, headers, body: null }, replay: { status, headers, body: '' } }
  }
  const response = jsonResponse(status, reply.body, headers)
  const kept = { status, headers: { 'content-type': 'application/json', ...headers } }
  if (reply.replayRead) return { response, replay: { ...kept, body: '', read: reply.replayRead } }
  return { response, replay: { ...kept, body: JSON.stringify(reply.replayBody ?? reply.body) } }
}

async function readAgain({ operation, params, query }: ReplayRead, call: object, context: Context): Promise<string> {
  const handler = context.handlers[operation] as (call: unknown) => Promise<Reply>
  const { body } = await handler({ ...call, params, query, body: undefined })
  return JSON.stringify(body)
}

// A request that is wrong in itself is refused for ever; what depends on the state of things may pass the next time.
async function remembered(work: () => Promise<RememberedResponse>, requestId: string): Promise<RememberedResponse> {
  try {
    return await work()
  } catch (error) {
    const known = asServiceError(error)
    const problem = problemOf(known, requestId)
    // What a path leads to is up to the box.
    if (known.status !== 400 || known.code === 'path_invalid') throw error
    const headers = { 'content-type': 'application/problem+json' }
    const replay: StoredAnswer = { status: known.status, headers, body: JSON.stringify(problem) }
    return { response: problemResponse(known, requestId), replay }
  }
}

// Refusals that are meant, such as a full pool or draining, are told to the client and need no stack.
function isFault(error: ServiceError): boolean {
  return error.status >= 500 && !EXPECTED.has(error.code)
}

function idempotencyKeyOf(headers: Record<string, string>): string | null {
  const key = headers['idempotency-key']
  if (key === undefined) return null
  if (key.length >= 1 && key.length <= 255) return key
  const fault = { pointer: '/headers/idempotency-key', detail: 'must be 1–255 characters' }
  throw new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}

function refuse(refusal: Refusal, facts: RequestFacts, logger: Logger): ServiceError {
  const { reason, keyId, skewMs } = refusal
  const { requestId, method, target } = facts
  logger.warn('channel request refused', {
    audit: true,
    reason,
    key_id: keyId,
    skew_ms: skewMs,
    method,
    target,
    request_id: requestId,
  })
  return refusalError(refusal)
}

const JSON_TYPE = { 'content-type': 'application/json' }
const EXPECTED: ReadonlySet<string> = new Set(['agent_protocol', 'draining', 'storage_full'])
