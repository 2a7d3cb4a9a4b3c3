import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'

/** A request to upgrade its connection. */
export interface UpgradeRequest {
  method: string
  target: string
  headers: Record<string, string>
  /** Aborting it closes the connection, unless that is already upgraded. */
  signal: AbortSignal | null
}

export interface DialOptions {
  /** Uses TLS if given. */
  tls: ConnectionOptions | null
  connectMs: number
  /** Time until the whole answer has arrived. Default: unlimited. */
  answerMs?: number
}

/** The answer to an upgrade: an upgraded connection, or a plain response. The caller must read or destroy the response. */
export interface DialAnswer {
  response: IncomingMessage
  upgraded: { socket: Socket; head: Buffer } | null
}

/** Reports that no connection or answer came in time. */
export class DialTimeout extends Error {
  override readonly name = 'DialTimeout'
  readonly wasSent: boolean

  constructor(what: 'connection' | 'answer', afterMs: number) {
    super(`no ${what} within ${afterMs} ms`)
    this.wasSent = what === 'answer'
  }
}

/** Sends an upgrade over a separate connection to the host of `baseUrl`. @throws Error of the network, or DialTimeout */
export function dialUpgrade(baseUrl: string, request: UpgradeRequest, options: DialOptions): Promise<DialAnswer> {
  const { method, target: path, headers, signal } = request
  const { tls, connectMs, answerMs } = options
  const url = new URL(baseUrl)
  const start = tls === null ? httpRequest : httpsRequest
  return new Promise((resolve, reject) => {
    const outgoing = start({
      ...{ host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port, agent: false, ...tls },
      ...{ method, path, headers, ...(signal === null ? {} : { signal }) },
    })
    const endAfter = (what: 'connection' | 'answer', ms: number): NodeJS.Timeout =>
      setTimeout(() => outgoing.destroy(new DialTimeout(what, ms)), ms)
    const connecting = endAfter('connection', connectMs)
    const answering = answerMs === undefined ? undefined : endAfter('answer', answerMs)
    outgoing.setNoDelay(true)
    outgoing.once('socket', (socket) => {
      socket.once(tls === null ? 'connect' : 'secureConnect', () => clearTimeout(connecting))
    })
    outgoing.once('close', () => {
      clearTimeout(connecting)
      clearTimeout(answering)
    })
    outgoing.on('error', reject)
    outgoing.once('upgrade', (response, socket: Socket, head) => {
      clearTimeout(answering)
      socket.on('error', () => undefined)
      resolve({ response, upgraded: { socket, head } })
    })
    outgoing.once('response', (response) => resolve({ response, upgraded: null }))
    outgoing.end()
  })
}
