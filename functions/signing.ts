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
  /** Null: not known yet; sealed with `bodyMac` of the signature. */
  body: Uint8Array | null
}

/** A request in the form that the agent accepts; `headers` hold the signature, and everything that it covers. */
export interface Signed {
  method: string
  target: string
  headers: Record<string, string>
  /** The key set at signing. */
  keys: ChannelKeySet
}

/** Signs for one agent, and adapts to its refusals. */
export interface Signing {
  /** @throws ServiceError `invalid_request` for a header that cannot be passed on */
  sign(unsigned: Unsigned): Signed
  /** Returns true if the agent refused a request unread, and would accept it if it were signed again. */
  mayRetry(signed: Signed, answer: { headers: HeaderMap }, requestId: string): boolean
}

/** Creates the signing of one front, which follows a rotation of keys and a restart of the agent. */
export function createSigning(options: { keyring: Keyring; logger: Logger; now(): number }): Signing {
  const { keyring, logger, now } = options
  const signatureOf = createSigner({
    keys: () => keyring.channel().keys,
    agentId: () => keyring.channel().agent_id,
    now,
  })
  let agentRun: string | undefined
  return {
    sign: (unsigned) => {
      const keys = keyring.channel()
      const message = channelRequestOf(unsigned, agentRun)
      const headers = { ...message.headers, [SIGNATURE_HEADER]: signatureOf(message, unsigned.body) }
      return { ...message, headers, keys }
    },
    // Compares with the keys used for this request, since a concurrent one may have reloaded them.
    mayRetry: ({ keys }, answer, requestId) => {
      const reason = headerOf(answer.headers, REFUSAL_HEADER)
      if (reason === undefined) return false
      const facts = { request_id: requestId, reason }
      const run = headerOf(answer.headers, AGENT_RUN_HEADER)
      if (run !== undefined) {
        logger.info('The agent has started again', facts)
        agentRun = run
        return true
      }
      logger.warn('The agent refused a signature', facts)
      if (keyring.channel() === keys) keyring.refresh('channel')
      return keyring.channel() !== keys
    },
  }
}

function channelRequestOf(
  unsigned: Unsigned,
  agentRun: string | undefined,
): ChannelRequest & { headers: Record<string, string> } {
  const { request, operation, requestId, body } = unsigned
  const headers = signedHeaders(request.headers)
  for (const [name, value] of Object.entries(headers)) {
    if (!FIELD_VALUE.test(value)) {
      const errors = [{ pointer: `/headers/${name}`, detail: 'must be of printable characters' }]
      throw new ServiceError('invalid_request', `The header ${name} holds characters it must not.`, { errors })
    }
    headers[name] = value.trim()
  }
  headers['x-request-id'] = requestId
  headers[CLIENT_ADDRESS_HEADER] = request.clientAddress
  if (agentRun === undefined) delete headers[AGENT_RUN_HEADER]
  else headers[AGENT_RUN_HEADER] = agentRun
  if (body?.length === 0) delete headers['content-type']
  return { method: operation.method, target: request.target, headers }
}

/** Refusals after which a request is signed again: one for an old key, one for a restart of the agent. */
export const REFUSAL_RETRIES = 2

const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
