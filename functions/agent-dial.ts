import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { ChannelTls } from './config.ts'
import type { Signed } from './signing.ts'
import { type AgentAnswer, CONNECT_TIMEOUT_MS, failureOf, TransportFailure, WHOLE_BODY_MAX_BYTES } from './transport.ts'

/** The agent's response to an upgrade request: an upgraded connection, or a plain answer. */
export type DialResult = { socket: Socket; head: Buffer; headers: IncomingMessage['headers'] } | AgentAnswer

/**
 * Sends an upgrade request to the agent over a connection of its own, with the client's `handshake` headers. Rejects only with
 * TransportFailure; aborting `signal` closes the connection unless it is upgraded already.
 */
export type Dial = (signed: Signed, handshake: Record<string, string>, signal: AbortSignal) => Promise<DialResult>

/** Creates the dial to the agent at `agentUrl`, over TLS if `tls` is given. */
export function createDial(options: { agentUrl: string; tls: ChannelTls | null; timeoutMs: number }): Dial {
  const { tls, timeoutMs } = options
  const url = new URL(options.agentUrl)
  const base = { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port, agent: false as const, ...tls }
  const start = tls ? httpsRequest : httpRequest
  return (signed, handshake, signal) =>
    new Promise((resolve, reject) => {
      const { method, target, headers } = signed
      const outgoing = start({
        ...base,
        method,
        path: target,
        headers: { ...headers, ...handshake, ...UPGRADE },
        signal,
      })
      const timer = setTimeout(() => outgoing.destroy(timedOut(timeoutMs, true)), timeoutMs)
      const connecting = setTimeout(() => outgoing.destroy(timedOut(CONNECT_TIMEOUT_MS, false)), CONNECT_TIMEOUT_MS)
      outgoing.setNoDelay(true)
      outgoing.once('socket', (socket) => {
        socket.once(tls ? 'secureConnect' : 'connect', () => clearTimeout(connecting))
      })
      outgoing.once('close', () => {
        clearTimeout(timer)
        clearTimeout(connecting)
      })
      outgoing.on('error', (error) => reject(failureOf(error, { signal })))
      outgoing.once('upgrade', (response, socket: Socket, head) => {
        clearTimeout(timer)
        socket.on('error', () => undefined)
        resolve({ socket, head, headers: response.headers })
      })
      outgoing.once('response', (response) => {
        readAnswer(response).then(resolve, (error: unknown) => reject(failureOf(error, { signal })))
      })
      outgoing.end()
    })
}

async function readAnswer(response: IncomingMessage): Promise<AgentAnswer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size > WHOLE_BODY_MAX_BYTES) throw new TransportFailure('malformed', { wasSent: true, cause: 'endless' })
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
}

function timedOut(afterMs: number, wasSent: boolean): TransportFailure {
  const cause = new Error(`nothing within ${afterMs} ms`)
  return new TransportFailure(wasSent ? 'timeout' : 'unreachable', { wasSent, cause })
}

const UPGRADE = { connection: 'Upgrade', upgrade: 'websocket' }
