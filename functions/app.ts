import { answerFlow } from '../shared/answer-flow.ts'
import { problemTypeNotFound, type ServiceError } from '../shared/errors.ts'
import { viewFaults } from '../shared/health-faults.ts'
import { type BodyBudget, heldBytes } from '../shared/http/body-budget.ts'
import { FRONT_BOUNDS } from '../shared/http/bounds.ts'
import { upgradeRequired } from '../shared/http/handshake.ts'
import {
  givenRequestId,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  isJsonType,
  jsonResponse,
  parseQuery,
  problemResponse,
  readJson,
} from '../shared/http/messages.ts'
import { newId } from '../shared/ids.ts'
import { answersBytes, type Operation } from '../shared/operation.ts'
import { operations } from '../shared/routes.ts'
import { validateRequest } from '../shared/validate.ts'
import type { BodyTurns } from './body-turns.ts'
import type { Forward, ForwardBytes } from './forward.ts'
import { ownerOf } from './owner.ts'
import {
  auditRefusedRequest,
  type Progress,
  type Reception,
  type ReceptionOptions,
  receiveRequest,
} from './reception.ts'
import { enterSession, secureCookies } from './session.ts'
import type { StrangerTurns } from './stranger-turns.ts'

export interface AppOptions extends ReceptionOptions {
  forward: Forward
  forwardBytes: ForwardBytes
  /** Null if the host has read the body already. */
  bodies: BodyBudget | null
  /** Null if the host delivers one request at a time. */
  turns: BodyTurns | null
  /** Null on the same condition. */
  strangers: StrangerTurns | null
}

/** Creates the app of every host: match, authenticate, authorize, validate, forward. Answers each fault as a problem (RFC 9457). */
export function createApp(options: AppOptions): HttpHandler {
  return async (given) => {
    const startedAt = options.now()
    const requestId = givenRequestId(given.headers) ?? newId('req', startedAt)
    const progress: Progress = { startedAt, operation: null, claims: null }
    let request = given
    try {
      const entered = await enterSession(given)
      request = entered.request
      const answer = await handle(request, { ...options, requestId, progress })
      if (entered.left !== null && answer.status === 201)
        await endSession(entered.left, request, { ...options, requestId })
      // The agent may have refused a ticket.
      await options.strangers?.wait(request, progress, answer)
      const response = await secureCookies(answer, request)
      return { ...response, headers: { 'cache-control': 'no-store', ...response.headers } }
    } catch (error) {
      return refuse(error, request, { ...options, requestId, progress })
    }
  }
}

type Context = AppOptions & Reception

async function handle(request: HttpRequest, context: Context): Promise<HttpResponse> {
  const { forward, forwardBytes, requestId } = context
  const { headers } = request
  const received = await receiveRequest(request, context)
  const { operation, params, search } = received
  if (operation.transport === 'websocket') throw upgradeRequired()
  const owner = ownerOf(received, request, context.progress)
  context.turns?.note(owner, context.progress.claims !== null)
  const holding = async (bytes: number, work: () => Promise<HttpResponse>): Promise<HttpResponse> => {
    const release = context.bodies?.hold(() => owner, bytes)
    try {
      return await work()
    } finally {
      release?.()
    }
  }
  const type = headerOf(headers, 'content-type')
  const check = async (body: Uint8Array): Promise<void> => {
    const work = () => {
      const isBytes = operation.bytesIn !== null && !isJsonType(type)
      const json = isBytes ? undefined : readJson(body, type)
      validateRequest(operation, { params, query: parseQuery(search), body: json, isBytes })
    }
    if (context.turns) await context.turns.run(owner, search.length + body.length, work)
    else work()
  }
  if (operation.bytesIn !== null && !isJsonType(type)) {
    await check(new Uint8Array(0))
    const openBody = () => context.turns?.pieces(owner, request.openBody()) ?? request.openBody()
    const sent = { request: { ...request, openBody }, operation, requestId, owner }
    return holding(FRONT_BOUNDS.streamedBodyBytes, () => forwardBytes(sent))
  }
  const maxBytes = maxBodyBytes(operation, context.progress)
  return holding(heldBytes(request, maxBytes), async () => {
    const body = await request.readBody(maxBytes)
    await check(body)
    if (operation.id === 'listProblems' || operation.id === 'getProblem')
      return answerAlone(params.code ?? null, request, context)
    const answer = await forward({ request, operation, requestId, owner, body })
    if (context.turns === null || !answersBytes(operation)) return answer
    return { ...answer, openFlow: answerFlow(operation.bytesOut, context.turns.openFlow(owner)) }
  })
}

/** Ends the session that a browser leaves by signing in again, because it has lost that session's half in its cookie. */
async function endSession(token: string, request: HttpRequest, options: Omit<Context, 'progress'>): Promise<void> {
  const { method, path: target } = operations.signOut
  const readBody = async (): Promise<Uint8Array> => new Uint8Array(0)
  const signOut = { ...request, method, target, readBody, headers: { authorization: `Bearer ${token}` } }
  const progress: Progress = { startedAt: options.now(), operation: null, claims: null }
  await handle(signOut, { ...options, progress }).catch((error: unknown) =>
    options.logger.info('Failed to end an abandoned session', { request_id: options.requestId, error }),
  )
}

/** Answers queries for problem types, which do not depend on the agent, even while the agent is unavailable. */
async function answerAlone(
  code: string | null,
  { headers }: HttpRequest,
  { requestId }: Context,
): Promise<HttpResponse> {
  const { answerProblemTypes } = await import('../shared/problem-types.ts')
  const answer = answerProblemTypes({ code, accept: headerOf(headers, 'accept'), types: '/problems' })
  if (answer === null) throw problemTypeNotFound('/problems')
  return { ...answer, headers: { ...answer.headers, 'x-request-id': requestId } }
}

/** Bounds the body of a request without a verified token, such as one with a ticket, to 64 KiB. */
function maxBodyBytes(operation: Operation, { claims }: Progress): number {
  return claims === null ? Math.min(operation.maxBodyBytes, FRONT_BOUNDS.ticketBodyBytes) : operation.maxBodyBytes
}

async function refuse(error: unknown, request: HttpRequest, context: Context): Promise<HttpResponse> {
  const { requestId, progress } = context
  const known = auditRefusedRequest(error, request, context)
  const isOutage = known.code === 'agent_unavailable' || known.code === 'agent_timeout'
  if (progress.operation?.id === 'getHealth' && isOutage) return unavailableReport(known, request, context)
  // Waits after writing its log line, which reports the refusal itself.
  const late = await context.strangers?.wait(request, progress, known)
  return problemResponse(late ?? known, requestId)
}

/**
 * Answers the functions' own health report while the agent is unreachable. Only clients with a token get its errors (docs/api.md#health).
 */
async function unavailableReport(error: ServiceError, request: HttpRequest, context: Context): Promise<HttpResponse> {
  const hasToken = await context.authenticate(request.headers).then(
    () => true,
    () => false,
  )
  const fault = { code: error.code, evidence: error.message, remedy: 'Start the agent, or fix the network to it.' }
  const faults = hasToken ? viewFaults([fault]) : { errors: [] }
  const report = { status: 'unavailable', api: { api_version: 'v1' }, ...faults }
  return jsonResponse(503, report, { 'x-request-id': context.requestId, 'cache-control': 'no-store' })
}
