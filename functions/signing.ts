import {
  AGENT_RUN_HEADER,
  type ChannelRequest,
  CLIENT_ADDRESS_HEADER,
  createSigner,
  REFUSAL_HEADER,
  SIGNATURE_HEADER,
  signedHeaders,
} from '../shared/auth/channel.ts'
import type { ChannelKeySet } from '../shared/auth/keys.ts'
import { ServiceError } from '../shared/errors.ts'
import { type HeaderMap, type HttpRequest, headerOf } from '../shared/http/messages.ts'
import type { Logger } from '../shared/log.ts'
import type { Operation } from '../shared/operation.ts'
import type { Keyring } from './keyring.ts'

/** A request to the agent, before it is signed. */
export interface Unsigned {
  request: Pick<HttpRequest, 'target' | 'headers' | 'clientAddress'>
  operation: Operation
  requestId: string
  /** Null if it is not known yet. It is then sealed with `bodyMac` of the signature. */
  body: Uint8Array | null
}

/** A request in the form that the agent accepts. `headers` hold the signature, and everything that it covers. */
export interface Signed {
  method: string
  target: string
  headers: Record<string, string>
  /** The key set at signing. */
  keys: ChannelKeySet
}

/** Signs for one agent, and adapts to its refusals. */
export interface Signing {
  /** @throws ServiceError `invalid_request` for a header that cannot be forwarded */
  sign(unsigned: Unsigned): Signed
  /** Returns true if the agent refused a request unread, and would accept it if it were signed again. */
  mayRetry(signed: Signed, answer: { headers: HeaderMap }, requestId: string): boolean
}

/** Creates the signing of one front, which adapts to a rotation of keys and a restart of the agent. */
export function createSigning(options: { keyring: Keyring; logger: Logger; now(): number }): Signing {
  const { keyring, logger, now } = options
  const signatureOf = createSigner({
    keys: () => keyring.channel().keys,
    agentId: () => keyring.channel().agent_id,
    now,
  })
  const runs = createRunMemory(now)
  return {
    sign: (unsigned) => {
      const keys = keyring.channel()
      const message = channelRequestOf(unsigned, runs.list())
      const headers = { ...message.headers, [SIGNATURE_HEADER]: signatureOf(message, unsigned.body) }
      return { ...message, headers, keys }
    },
    // Compares with the keys of this request, because a concurrent one may have reloaded them.
    mayRetry: ({ keys }, answer, requestId) => {
      const reason = headerOf(answer.headers, REFUSAL_HEADER)
      if (reason === undefined) return false
      const facts = { request_id: requestId, reason }
      const run = headerOf(answer.headers, AGENT_RUN_HEADER)
      if (run !== undefined) {
        logger.info('The agent restarted', facts)
        runs.note(run.split(','))
        return true
      }
      logger.warn('The agent rejected a signature', facts)
      if (keyring.channel() === keys) keyring.refresh('channel')
      return keyring.channel() !== keys
    },
  }
}

/** The runs of recently started agents. In a fleet, several agents answer a front, alternately or at once. */
function createRunMemory(now: () => number): { note(runs: readonly string[]): void; list(): string[] } {
  const heard = new Map<string, number>()
  return {
    note: (runs) => {
      for (const run of runs) {
        heard.delete(run)
        heard.set(run, now())
      }
      for (const [run, at] of heard) if (heard.size > RUNS_KEPT || now() - at > RUN_KEPT_MS) heard.delete(run)
    },
    list: () => [...heard].filter(([, at]) => now() - at <= RUN_KEPT_MS).map(([run]) => run),
  }
}

function channelRequestOf(
  unsigned: Unsigned,
  runs: readonly string[],
): ChannelRequest & { headers: Record<string, string> } {
  const { request, operation, requestId, body } = unsigned
  const headers = signedHeaders(request.headers)
  for (const [name, value] of Object.entries(headers)) {
    if (!FIELD_VALUE.test(value)) {
      const errors = [{ pointer: `/headers/${name}`, detail: 'must have only printable characters' }]
      throw new ServiceError('invalid_request', `The header ${name} contains invalid characters.`, { errors })
    }
    headers[name] = value.trim()
  }
  headers['x-request-id'] = requestId
  headers[CLIENT_ADDRESS_HEADER] = request.clientAddress
  if (runs.length === 0) delete headers[AGENT_RUN_HEADER]
  else headers[AGENT_RUN_HEADER] = runs.join(',')
  if (body?.length === 0) delete headers['content-type']
  return { method: operation.method, target: request.target, headers }
}

/**
 * Maximum number of refusals after which a request is signed again: one for an old key, and one for each recently started agent. A create
 * in a fleet can meet three such agents: the receiving one, the owning cell's, and the scheduled node's.
 */
export const REFUSAL_RETRIES = 4

/** At most this many agents can start within a minute. */
const RUNS_KEPT = 64
/** An agent asks for its run only in its first half minute, and clocks may differ by as much. */
const RUN_KEPT_MS = 90_000
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
