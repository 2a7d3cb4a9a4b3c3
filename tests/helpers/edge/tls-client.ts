import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'

/** Address for an HTTPS client to connect to, and the roots that it trusts. */
export interface TlsPlace {
  port: number
  /** PEM of trusted roots. Null trusts any certificate. */
  ca: string | null
  /** Source address. Default 127.0.0.1. */
  localAddress?: string
}

export interface TlsAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** Completes a handshake for a name. Rejects if the server has no trusted certificate for it. */
export function openTls(
  { port, ca, localAddress = '127.0.0.1' }: TlsPlace,
  name: string,
  ALPNProtocols = ['http/1.1'],
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const trust = ca === null ? { rejectUnauthorized: false } : { ca }
    const line = connectTcp({ host: '127.0.0.1', port, localAddress })
    line.once('error', reject)
    const socket = connect({ socket: line, servername: name, ALPNProtocols, ...trust }, () => resolve(socket))
    socket.once('error', reject)
    socket.once('close', () => line.destroy())
  })
}

/** Sends a request over a new connection. Resolves with the head of the response. */
export async function openAnswer(
  place: TlsPlace,
  name: string,
  { path = '/', method = 'GET', headers = {}, body }: TlsRequest = {},
): Promise<IncomingMessage> {
  const socket = await openTls(place, name)
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...{ createConnection: () => socket, method, path },
      headers: { host: name, connection: 'close', ...headers },
    })
    outgoing.once('error', reject)
    outgoing.once('response', resolve)
    outgoing.end(body)
  })
}

export interface TlsRequest {
  path?: string
  method?: string
  headers?: Record<string, string | string[]>
  body?: string | Buffer
}

/** Sends a request as `openAnswer` does, and reads the body. */
export async function askTls(place: TlsPlace, name: string, options: TlsRequest = {}): Promise<TlsAnswer> {
  const answer = await openAnswer(place, name, options)
  let text = ''
  for await (const piece of answer) text += String(piece)
  return { status: answer.statusCode ?? 0, headers: answer.headers, text }
}

/** Sends these bytes. Resolves with everything received once the server closes. */
export async function sayTls(place: TlsPlace, name: string, text: string): Promise<string> {
  const socket = await openTls(place, name)
  return new Promise((resolve, reject) => {
    let received = ''
    socket.setTimeout(35_000, () => socket.destroy(new Error(`silence after ${JSON.stringify(received)}`)))
    socket.on('data', (piece: Buffer) => (received += piece.toString('latin1')))
    socket.once('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? undefined : reject(error)))
    socket.once('close', () => resolve(received))
    socket.write(text, 'latin1')
  })
}
