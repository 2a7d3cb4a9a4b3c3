import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { DialTimeout, dialUpgrade } from '../shared/http/dial.ts'
import type { ChannelTls } from './config.ts'
import type { Signed } from './signing.ts'
import { type AgentAnswer, CONNECT_TIMEOUT_MS, failureOf, TransportFailure, WHOLE_BODY_MAX_BYTES } from './transport.ts'

/** The agent's response to an upgrade request, either an upgraded connection or a plain answer. */
export type DialResult = { socket: Socket; head: Buffer; headers: IncomingMessage['headers'] } | AgentAnswer

/**
 * Sends an upgrade request to the agent over its own connection, with the client's `handshake` headers. Rejects only with TransportFailure.
 * Aborting `signal` closes the connection, unless it is already upgraded.
 */
export type Dial = (signed: Signed, handshake: Record<string, string>, signal: AbortSignal) => Promise<DialResult>

/** Creates the dial to the agent at `agentUrl`, over TLS if `tls` is given. */
export function createDial(options: { agentUrl: string; tls: ChannelTls | null; timeoutMs: number }): Dial {
  const { agentUrl, tls, timeoutMs } = options
  const limits = { tls, connectMs: CONNECT_TIMEOUT_MS, answerMs: timeoutMs }
  return async ({ method, target, headers }, handshake, signal) => {
    const request = { method, target, headers: { ...headers, ...handshake, ...UPGRADE }, signal }
    try {
      const { response, upgraded } = await dialUpgrade(agentUrl, request, limits)
      return upgraded === null ? await readAnswer(response) : { ...upgraded, headers: response.headers }
    } catch (error) {
      if (!(error instanceof DialTimeout)) throw failureOf(error, { signal })
      const { wasSent } = error
      throw new TransportFailure(wasSent ? 'timeout' : 'unreachable', { wasSent, cause: error })
    }
  }
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

const UPGRADE = { connection: 'Upgrade', upgrade: 'websocket' }
