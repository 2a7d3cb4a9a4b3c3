import type { IncomingMessage } from 'node:http'
import WebSocket, { type ClientOptions } from 'ws'

/** Close code and reason of a WebSocket. */
export interface Closing {
  code: number
  reason: string
}

/** A client of a command's WebSocket that keeps all messages. */
export interface StreamClient {
  socket: WebSocket
  /** Headers of the 101 response. */
  headers: IncomingMessage['headers']
  /** All messages so far, in order. */
  messages: (Buffer | string)[]
  closed: Promise<Closing>
  /** Sends `payload` on a channel of a binary protocol. */
  send(channel: number, payload?: string | Uint8Array): void
  /** Returns everything received on a channel of a binary protocol. */
  text(channel: number): string
  /** Resolves once the text received on a channel contains `text`. Rejects if the socket closes first. */
  until(channel: number, text: string): Promise<void>
  /** Returns the Kubernetes Status received so far, or undefined. */
  status(): StatusFrame | undefined
}

/** Fields of a Kubernetes `Status` that tests read. */
export interface StatusFrame {
  status: string
  message?: string
  reason?: string
  details?: { causes: { reason: string; message: string }[] }
}

/** The HTTP response to a refused upgrade. */
export class RefusedUpgrade extends Error {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string

  constructor(status: number, headers: IncomingMessage['headers'], text: string) {
    super(`${status} ${text}`)
    this.status = status
    this.headers = headers
    this.text = text
  }

  get problem(): Record<string, unknown> {
    return JSON.parse(this.text) as Record<string, unknown>
  }
}

/** Opens a WebSocket. Rejects with RefusedUpgrade if the server refuses the upgrade. */
export function openStream(
  url: string,
  options: ClientOptions & { protocols?: string[]; token?: string | null } = {},
): Promise<StreamClient> {
  const { protocols = ['v5.channel.k8s.io'], token = null, ...rest } = options
  const headers = { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...rest.headers }
  const socket = new WebSocket(url.replace(/^http/, 'ws'), protocols, { perMessageDeflate: false, ...rest, headers })
  const closed = new Promise<Closing>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })
  const messages: (Buffer | string)[] = []
  const bytesOf = (channel: number): Buffer =>
    Buffer.concat(messages.flatMap((one) => (typeof one !== 'string' && one[0] === channel ? [one.subarray(1)] : [])))
  const client: StreamClient = {
    socket,
    headers: {},
    messages,
    closed,
    send: (channel, payload = '') => socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(payload)])),
    text: (channel) => bytesOf(channel).toString(),
    until: (channel, text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (bytesOf(channel).includes(text)) resolve()
          else if (socket.readyState === socket.CLOSED)
            reject(new Error(`closed, and no ${text}: ${client.text(channel)}`))
        }
        socket.on('message', look)
        socket.once('close', look)
        look()
      }),
    status: () => {
      const message = messages.find((one) => (typeof one === 'string' ? one.startsWith('3') : one[0] === 3))
      if (message === undefined) return undefined
      const json = typeof message === 'string' ? Buffer.from(message.slice(1), 'base64') : message.subarray(1)
      return JSON.parse(json.toString()) as StatusFrame
    },
  }
  socket.on('message', (data: Buffer, isBinary) => messages.push(isBinary ? data : data.toString()))
  socket.on('upgrade', (response) => Object.assign(client, { headers: response.headers }))
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(client))
    socket.on('error', reject)
    socket.once('unexpected-response', (request, response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.once('close', () => {
        reject(new RefusedUpgrade(response.statusCode ?? 0, response.headers, Buffer.concat(pieces).toString()))
        request.destroy()
      })
    })
  })
}

/** Opens a WebSocket that the server must refuse. Returns the refusal. */
export async function refusedStream(...given: Parameters<typeof openStream>): Promise<RefusedUpgrade> {
  try {
    const { socket } = await openStream(...given)
    socket.terminate()
  } catch (error) {
    if (error instanceof RefusedUpgrade) return error
    throw error
  }
  throw new Error('it was not refused')
}
