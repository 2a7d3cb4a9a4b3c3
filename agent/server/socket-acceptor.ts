import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws'
import { NOSNIFF } from '../../shared/http/nosniff.ts'

/** An upgrade request, and the bytes that followed its head. */
export interface Upgrade {
  incoming: IncomingMessage
  socket: Duplex
  head: Buffer
}

/** Completes the handshake. Null if the client has disconnected. */
export type Acceptor = (
  given: Upgrade,
  answer: { protocol: string | null; headers: Record<string, string> },
) => WebSocket | null

/** Creates the acceptor of WebSockets with these bounds of `ws`. */
export function createAcceptor(bounds: ServerOptions): Acceptor {
  const answers = new WeakMap<IncomingMessage, Parameters<Acceptor>[1]>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // Handles one message per socket in a turn of the event loop, because a piece of 64 KiB may hold 10,000.
    allowSynchronousEvents: false,
    maxFragments: FRAGMENTS,
    ...bounds,
    handleProtocols: (_offered, incoming) => answers.get(incoming)?.protocol ?? false,
  })
  server.on('headers', (lines, incoming) => {
    const headers = { ...NOSNIFF, ...answers.get(incoming)?.headers }
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  })
  return ({ incoming, socket, head }, answer) => {
    answers.set(incoming, answer)
    // The offer is validated already, and the command runs. Without this, ws would refuse a list that repeats a protocol.
    if (answer.protocol === null) delete incoming.headers['sec-websocket-protocol']
    else incoming.headers['sec-websocket-protocol'] = answer.protocol
    let accepted: WebSocket | null = null
    server.handleUpgrade(incoming, socket, head, (made) => void (accepted = made))
    return accepted
  }
}

/** Maximum number of frames in a message, which are all read in one turn of the loop. */
const FRAGMENTS = 256
