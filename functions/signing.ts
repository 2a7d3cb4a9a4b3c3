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

/** What goes to the agent of a request, before it is signed. */
export interface Unsigned {
  request: Pick<HttpRequest, 'target' | 'headers' | 'clientAddress'>
  operation: Operation
  requestId: string
  /** Null: not known yet, and sealed by `bodyMac` of the signature. */
  body: Uint8Array | null
}

/** A request as the agent takes it; `headers` hold the signature, and all that was signed. */
export interface Signed {
  method: string
  target: string
  headers: Record<string, string>
  /** What it was signed with. */
  keys: ChannelKeySet
}

/** Signs for one agent, and learns from its refusals. */
export interface Signing {
  /** @throws ServiceError `invalid_request` for a header that cannot be passed on */
  sign(unsigned: Unsigned): Signed
  /** Whether the agent refused to look at a request, and would take it now if it were signed again. */
  mayPassNow(signed: Signed, answer: { headers: HeaderMap }, requestId: string): boolean
}

/** The signing of one front, which follows a rotation of keys and a restart of the agent. */
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
    // Another request may have read the keys meanwhile, so what counts is whether they are others than those used.
    mayPassNow: ({ keys }, answer, requestId) => {
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

/** An agent may refuse twice and take the third: once for an old key, once for its own restart. */
export const REFUSAL_RETRIES = 2

const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
