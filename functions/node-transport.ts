import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import type { ChannelTls } from './config.ts'
import {
  type AgentAnswer,
  type AgentTransport,
  CONNECT_TIMEOUT_MS,
  CONNECTIONS_MAX,
  failureOf,
  KEEP_ALIVE_MS,
  TransportFailure,
  WHOLE_BODY_MAX_BYTES,
} from './transport.ts'

/** Creates the transport of a function: over node:http, which needs no loading. */
export function createNodeTransport(options: { agentUrl: string; tls: ChannelTls | null }): AgentTransport {
  const { tls } = options
  // An import would load it at every start of a function, for the few that need it.
  const https = tls ? process.getBuiltinModule('node:https') : null
  const url = new URL(options.agentUrl)
  const settings = { keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: KEEP_ALIVE_MS, scheduling: 'lifo' as const }
  const agent = https ? new https.Agent({ ...settings, ...tls }) : new HttpAgent(settings)
  const base: RequestOptions = { agent, host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port }
  const start = https ? https.request : httpRequest
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        const { method, target, headers, body, signal, timeoutMs } = request
        const outgoing = start({ ...base, method, path: target, headers, ...(signal ? { signal } : {}) })
        const timer = setTimeout(() => outgoing.destroy(timedOut(timeoutMs, true)), timeoutMs)
        outgoing.once('socket', (socket) => {
          if (!socket.connecting) return
          const connectTimer = setTimeout(
            () => outgoing.destroy(timedOut(CONNECT_TIMEOUT_MS, false)),
            CONNECT_TIMEOUT_MS,
          )
          socket.once(tls ? 'secureConnect' : 'connect', () => clearTimeout(connectTimer))
          socket.once('close', () => clearTimeout(connectTimer))
        })
        outgoing.once('response', (incoming) => {
          answerOf(incoming).then(resolve, (error: unknown) => reject(failureOf(error, request)))
        })
        outgoing.once('close', () => clearTimeout(timer))
        outgoing.on('error', (error) => reject(failureOf(error, request)))
        outgoing.end(body.length === 0 ? undefined : body)
      }),
    close: () => {
      agent.destroy()
      return Promise.resolve()
    },
  }
}

async function answerOf(incoming: IncomingMessage): Promise<AgentAnswer> {
  const { statusCode: status = 0, headers } = incoming
  const isWhole = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= WHOLE_BODY_MAX_BYTES
  if (!isWhole && status !== 204 && status !== 304) return { status, headers, body: incoming }
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return { status, headers, body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) }
}

function timedOut(afterMs: number, wasSent: boolean): TransportFailure {
  const cause = new Error(`nothing within ${afterMs} ms`)
  return new TransportFailure(wasSent ? 'timeout' : 'unreachable', { wasSent, cause })
}
