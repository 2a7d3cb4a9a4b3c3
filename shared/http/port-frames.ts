import { ServiceError } from '../errors.ts'

/** The subprotocol of a port's WebSocket. Binary messages are bytes, and the text `PORT_END` ends the sender's direction. */
export const PORT_PROTOCOL = 'v1.port.boxyard'
export const PORT_END = 'end'
/** Maximum bytes of a client's message. Each connection can hold this much in memory until the message is whole. */
export const PORT_MESSAGE_BYTES = 64 * 1024

/**
 * Chooses the subprotocol for a client that sent this `Sec-WebSocket-Protocol`. Returns null if the client sent none. It then speaks the
 * same protocol. @throws ServiceError `invalid_request` if it offers only others
 */
export function choosePortProtocol(offered: string | undefined): string | null {
  if (offered === undefined || offered.trim() === '') return null
  if (offered.split(',').some((name) => name.trim() === PORT_PROTOCOL)) return PORT_PROTOCOL
  const fault = { pointer: '/headers/sec-websocket-protocol', detail: `must offer ${PORT_PROTOCOL}, or nothing` }
  throw new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}
