import { ServiceError } from '../errors.ts'
import { type HeaderMap, headerOf } from './messages.ts'

/** Returns true if a request is a WebSocket upgrade (RFC 6455 §4.2.1). */
export function asksForWebSocket({ method, headers }: { method?: string | undefined; headers: HeaderMap }): boolean {
  return method === 'GET' && headerOf(headers, 'upgrade')?.toLowerCase() === 'websocket'
}

/**
 * Checks the headers of a WebSocket handshake, before any work is done for it.
 * @throws ServiceError `upgrade_required` for another version, `invalid_request` for a malformed key
 */
export function checkHandshake(headers: HeaderMap): void {
  if (headerOf(headers, 'sec-websocket-version') !== VERSION) {
    const more = { headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': VERSION } }
    throw new ServiceError('upgrade_required', `This service supports only version ${VERSION} of WebSocket.`, more)
  }
  if (KEY.test(headerOf(headers, 'sec-websocket-key') ?? '')) return
  const fault = { pointer: '/headers/sec-websocket-key', detail: 'must be 16 bytes in base64' }
  throw new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}

/** Returns the error for a plain request to a WebSocket operation. */
export function upgradeRequired(): ServiceError {
  const detail =
    'This operation is a WebSocket. Send an upgrade request, or use a ticket (POST …/tickets) where upgrades are not possible, such as behind a function.'
  return new ServiceError('upgrade_required', detail, { headers: { Upgrade: 'websocket' } })
}

/** Returns the error for an upgrade request to a plain operation. */
export function noWebSocket(): ServiceError {
  const fault = { pointer: '/headers/upgrade', detail: 'this is not a WebSocket request' }
  return new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}

const VERSION = '13'
const KEY = /^[+/0-9A-Za-z]{22}==$/
