import { setTimeout as delay } from 'node:timers/promises'
import { type Dispatcher, request as sendRequest } from 'undici'
import { readWhole } from '../../../shared/http/gathered-pieces.ts'
import type { KubeAccess, KubeCredentials } from './credentials.ts'
import {
  forbiddenError,
  type KubeAction,
  type KubeError,
  type KubeFault,
  type KubeStatus,
  kubeRefusalError,
  readKubeStatus,
  unreachableError,
} from './errors.ts'
import { createKubeFaults } from './faults.ts'

/** Outcome of an attempt: an answer, or the cause of its absence. */
type Outcome = Answer | NoAnswer

interface Answer {
  kind: 'answer'
  status: number
  body: unknown
  retryAfterMs: number
}

interface NoAnswer {
  kind: 'none'
  cause: unknown
  isLate: boolean
}

/** Sends calls over kept connections, and turns every failure into a KubeError. */
export class KubeRequests {
  readonly #credentials: KubeCredentials
  readonly #closing = new AbortController()
  readonly #faults: ReturnType<typeof createKubeFaults>
  #count = 0

  constructor(credentials: KubeCredentials, now: () => number) {
    this.#credentials = credentials
    this.#faults = createKubeFaults(now)
  }

  /** Sends `call` and returns the answer's body. Makes up to three attempts if the server does not answer or is overloaded. */
  async send(call: KubeCall): Promise<unknown> {
    const deadline = AbortSignal.timeout(call.deadlineMs ?? DEADLINE_MS)
    const signal = AbortSignal.any([this.#closing.signal, deadline])
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(call, signal)
      const waitMs = retryWaitMs(outcome, attempt)
      if (waitMs === null) return this.#settle(call, outcome)
      await delay(waitMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Opens a watch and returns its body, which fails after `silenceMs` without a byte. */
  async open(call: KubeCall, options: { signal: AbortSignal; silenceMs: number }): Promise<AsyncIterable<Buffer>> {
    const signal = AbortSignal.any([this.#closing.signal, options.signal])
    let outcome: Outcome
    try {
      const timeouts = { headersTimeout: OPEN_MS, bodyTimeout: options.silenceMs }
      const response = await this.#authorized(call, { signal, ...timeouts })
      if (response.statusCode === 200) {
        this.#faults.noteSuccess(call)
        return response.body
      }
      outcome = await readAnswer(response)
    } catch (error) {
      outcome = { kind: 'none', cause: error, isLate: false }
    }
    throw await this.#failure(call, outcome)
  }

  /** Returns the number of requests sent. */
  requestCount(): number {
    return this.#count
  }

  /** Fails unless the server answers, accepts the credentials and allows all `actions`, which are of the core API group. */
  async checkAllowed(actions: readonly KubeAction[]): Promise<void> {
    for (const action of actions) {
      if (isAllowed(await this.send(reviewOf(action, '')))) this.#faults.noteAllowed(action)
      else throw this.#noted(action, forbiddenError(action, new Error('its SelfSubjectAccessReview does not allow it')))
    }
  }

  faults(): KubeFault[] {
    return this.#faults.list()
  }

  /** Calls `listener` when the server stops answering. Returns a function that removes it. */
  onLoss(listener: () => void): () => void {
    return this.#faults.onLoss(listener)
  }

  /** Calls `listener` when the server answers, or accepts the credentials, again. Returns a function that removes it. */
  onRecovery(listener: () => void): () => void {
    return this.#faults.onRecovery(listener)
  }

  /** Aborts all requests and watches. */
  close(): void {
    this.#closing.abort()
    this.#credentials.close()
  }

  async #attempt(call: KubeCall, signal: AbortSignal): Promise<Outcome> {
    // The signal does not abort a request that waits for a connection.
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    try {
      return await Promise.race([this.#authorized(call, { signal }).then(readAnswer), aborted])
    } catch (error) {
      return { kind: 'none', cause: error, isLate: signal.aborted }
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /** Sends the call, and resends it if the credentials were refused and have since been replaced. */
  async #authorized(call: KubeCall, options: SendOptions): Promise<Dispatcher.ResponseData> {
    const access = await this.#credentials.current()
    const response = await this.#sendOnce(call, access, options)
    if (response.statusCode !== 401 || !(await this.#credentials.renew(access))) return response
    await response.body.dump()
    return this.#sendOnce(call, await this.#credentials.current(), options)
  }

  #sendOnce(call: KubeCall, access: KubeAccess, options: SendOptions): Promise<Dispatcher.ResponseData> {
    this.#count += 1
    const { path, query = {}, body, contentType = 'application/json', accept = 'application/json' } = call
    const search = Object.keys(query).length > 0 ? `?${new URLSearchParams(query).toString()}` : ''
    return sendRequest(`${access.server}${path}${search}`, {
      headersTimeout: DEADLINE_MS,
      ...options,
      method: METHODS[call.verb],
      dispatcher: access.dispatcher,
      headers: {
        ...access.headers,
        accept,
        'user-agent': 'boxyard-agent',
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
  }

  async #settle(call: KubeCall, outcome: Outcome): Promise<unknown> {
    if (outcome.kind === 'none' || outcome.status >= 300) throw await this.#failure(call, outcome)
    this.#faults.noteSuccess(call)
    return outcome.body
  }

  async #failure(call: KubeCall, outcome: Outcome): Promise<KubeError> {
    return this.#noted(call, await this.#errorOf(call, outcome))
  }

  #noted(action: KubeAction, error: KubeError): KubeError {
    if (!this.#closing.signal.aborted) this.#faults.note(action, error)
    return error
  }

  async #errorOf(call: KubeCall, outcome: Outcome): Promise<KubeError> {
    if (outcome.kind === 'none') {
      if (outcome.cause instanceof AnswerTooLong)
        return unreachableError(`answers to ${call.verb} ${call.resource} with more than 64 MiB`, outcome.cause)
      const why = outcome.isLate ? 'in time' : `(${faultCode(outcome.cause)})`
      return unreachableError(`does not answer ${why}`, outcome.cause)
    }
    const refusal = readKubeStatus(outcome.status, outcome.body)
    if (isOverloaded(refusal.status))
      return unreachableError(`answers ${refusal.status} ${refusal.message}`.trim(), causeOf(refusal))
    if (refusal.status === 403 && (await this.#isForbidden(call))) return forbiddenError(call, causeOf(refusal))
    return kubeRefusalError(call, refusal)
  }

  /** Returns true if a 403 comes from RBAC. Admission answers writes with 403 too, so ask for a SelfSubjectAccessReview. */
  async #isForbidden(call: KubeCall): Promise<boolean> {
    if (call.verb === 'get' || call.verb === 'list' || call.verb === 'watch') return true
    const review = reviewOf(call, /^\/apis\/([^/]+)\//.exec(call.path)?.[1] ?? '')
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(review.deadlineMs ?? DEADLINE_MS)])
    const outcome = await this.#attempt(review, signal)
    return !(outcome.kind === 'answer' && outcome.status === 201 && isAllowed(outcome.body))
  }
}

type SendOptions = Pick<Dispatcher.RequestOptions, 'signal' | 'bodyTimeout' | 'headersTimeout'>

async function readAnswer({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Answer> {
  const whole = await readWhole(body, { maxBytes: ANSWER_BYTES_MAX, tooLong: () => new AnswerTooLong() })
  const text = whole.toString('utf8')
  const retryAfterMs = Number(headers['retry-after'] ?? 0) * 1000
  try {
    return { kind: 'answer', status: statusCode, body: JSON.parse(text), retryAfterMs: retryAfterMs || 0 }
  } catch (error) {
    if (statusCode >= 300) return { kind: 'answer', status: statusCode, body: null, retryAfterMs: retryAfterMs || 0 }
    throw new Error('The answer is not JSON.', { cause: error })
  }
}

class AnswerTooLong extends Error {
  constructor() {
    super(`The answer is longer than ${ANSWER_BYTES_MAX} bytes.`)
  }
}

/** Returns the wait before the next attempt in milliseconds. Null if there is none. */
function retryWaitMs(outcome: Outcome, attempt: number): number | null {
  const isFinal = outcome.kind === 'none' && (outcome.isLate || outcome.cause instanceof AnswerTooLong)
  const isWorthIt = outcome.kind === 'none' ? !isFinal : isOverloaded(outcome.status)
  if (!isWorthIt || attempt >= ATTEMPTS_MAX) return null
  const waitMs = RETRY_MS * 4 ** (attempt - 1) * (0.5 + Math.random() / 2)
  return outcome.kind === 'none' ? waitMs : Math.max(waitMs, outcome.retryAfterMs)
}

function isOverloaded(status: number): boolean {
  return status === 429 || status >= 500
}

/** Returns the error code, such as ECONNREFUSED or CERT_HAS_EXPIRED, since the message would reveal the host. */
function faultCode(cause: unknown): string {
  const { code, cause: inner } = (cause ?? {}) as { code?: unknown; cause?: unknown }
  if (typeof code === 'string') return code
  return inner === undefined ? 'the connection failed' : faultCode(inner)
}

function causeOf({ status, reason, message }: KubeStatus): Error {
  return new Error(`${status} ${reason}: ${message}`)
}

/** Builds a SelfSubjectAccessReview, which reports whether RBAC allows the action, without admission rules. */
function reviewOf({ verb, resource, namespace }: KubeAction, group: string): KubeCall {
  const [name, subresource] = resource.split('/')
  const attributes = { namespace, verb, group, resource: name, ...(subresource ? { subresource } : {}) }
  return {
    verb: 'create',
    resource: 'selfsubjectaccessreviews',
    namespace: null,
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: attributes },
    },
    deadlineMs: REVIEW_MS,
  }
}

/** Reads the answer of a review. Returns false if it is unclear. */
function isAllowed(review: unknown): boolean {
  const { status } = (review ?? {}) as { status?: { allowed?: boolean } }
  return status?.allowed === true
}

/** One idempotent API call, which may be sent several times. */
export interface KubeCall extends KubeAction {
  /** Absolute path on the server. */
  path: string
  query?: Record<string, string>
  body?: unknown
  /** Content type of `body`. Default JSON. */
  contentType?: string
  /** Accept header. Default JSON. */
  accept?: string
  /** Time limit for all attempts together. Default 10 s. */
  deadlineMs?: number
}

const METHODS = { get: 'GET', list: 'GET', watch: 'GET', create: 'POST', patch: 'PATCH', delete: 'DELETE' } as const
const DEADLINE_MS = 10_000
const OPEN_MS = 5_000
const ATTEMPTS_MAX = 3
const RETRY_MS = 150
const REVIEW_MS = 5_000
/** More than a list of a thousand pods, or of the nodes of a large cluster. */
const ANSWER_BYTES_MAX = 64 * 1024 ** 2
