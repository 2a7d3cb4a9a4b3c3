import { ServiceError } from '../errors.ts'
import { type HeaderMap, headerOf } from './messages.ts'

/** Whether a request asks to become a WebSocket (RFC 6455 §4.2.1). */
export function asksForWebSocket({ method, headers }: { method?: string | undefined; headers: HeaderMap }): boolean {
  return method === 'GET' && headerOf(headers, 'upgrade')?.toLowerCase() === 'websocket'
}

/**
 * Checks what an answer of 101 needs of a request, before anything is begun for it.
 * @throws ServiceError `upgrade_required` for another version, `invalid_request` for a key that is none
 */
export function checkHandshake(headers: HeaderMap): void {
  if (headerOf(headers, 'sec-websocket-version') !== VERSION) {
    const more = { headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': VERSION } }
    throw new ServiceError('upgrade_required', `Only version ${VERSION} of WebSocket is spoken here.`, more)
  }
  if (KEY.test(headerOf(headers, 'sec-websocket-key') ?? '')) return
  const fault = { pointer: '/headers/sec-websocket-key', detail: 'must be 16 bytes in base64' }
  throw new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}

/** Refuses a plain request for what is a WebSocket. */
export function upgradeRequired(): ServiceError {
  const detail = 'This is a WebSocket: ask for an upgrade, or for a ticket where that is not possible.'
  return new ServiceError('upgrade_required', detail, { headers: { Upgrade: 'websocket' } })
}

/** Refuses a WebSocket of what is none. */
export function noWebSocket(): ServiceError {
  const fault = { pointer: '/headers/upgrade', detail: 'this is no WebSocket' }
  return new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}

const VERSION = '13'
const KEY = /^[+/0-9A-Za-z]{22}==$/
