import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { ChannelTls } from './config.ts'
import type { Signed } from './signing.ts'
import { type AgentAnswer, CONNECT_TIMEOUT_MS, failureOf, TransportFailure, WHOLE_BODY_MAX_BYTES } from './transport.ts'

/** What the agent makes of a request for a WebSocket: a connection that is one from now on, or an answer. */
export type Dialled = { socket: Socket; head: Buffer; headers: IncomingMessage['headers'] } | AgentAnswer

/**
 * Asks the agent for a WebSocket over a connection of its own; `handshake` are the client's headers of that. Rejects with
 * TransportFailure, and nothing else; aborting `signal` closes the connection, but not once it is a WebSocket.
 */
export type Dial = (signed: Signed, handshake: Record<string, string>, signal: AbortSignal) => Promise<Dialled>

/** Dials the agent at `agentUrl`. */
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
      const timer = setTimeout(() => outgoing.destroy(tooLate(timeoutMs, true)), timeoutMs)
      const connecting = setTimeout(() => outgoing.destroy(tooLate(CONNECT_TIMEOUT_MS, false)), CONNECT_TIMEOUT_MS)
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
        wholeAnswer(response).then(resolve, (error: unknown) => reject(failureOf(error, { signal })))
      })
      outgoing.end()
    })
}

async function wholeAnswer(response: IncomingMessage): Promise<AgentAnswer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size > WHOLE_BODY_MAX_BYTES) throw new TransportFailure('malformed', { wasSent: true, cause: 'endless' })
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
}

function tooLate(afterMs: number, wasSent: boolean): TransportFailure {
  const cause = new Error(`nothing within ${afterMs} ms`)
  return new TransportFailure(wasSent ? 'timeout' : 'unreachable', { wasSent, cause })
}

const UPGRADE = { connection: 'Upgrade', upgrade: 'websocket' }
