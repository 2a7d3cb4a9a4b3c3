import type { ClientOptions, WebSocket as NodeWebSocket } from 'ws'
import { ConnectionError } from './api-error.ts'
import { parseJson, toApiError } from './problems.ts'

/** Channels of `v5.channel.k8s.io`: the first byte of a frame. */
export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const

export interface Frame {
  channel: number
  bytes: Uint8Array
}

/** A WebSocket that carries channels. What came and was not taken yet is bounded: the socket is not read meanwhile. */
export interface ChannelSocket {
  /** `X-Exec-Id` or `X-Session-Id` of the answer; null where the platform does not tell headers. */
  readonly id: string | null
  /** Sends a frame and waits until it is on its way. */
  send(channel: number, bytes: Uint8Array): Promise<void>
  /** Returns the next frame; null once the socket has closed and all was taken. */
  receive(): Promise<Frame | null>
  /** Code and reason of the close; null before it. */
  closed(): { code: number; reason: string } | null
  close(): void
}

/** Opens a socket with the `ws` package, which sends headers. @throws ApiError of a refusal, ConnectionError */
export async function openNodeSocket(url: string, headers: Record<string, string>): Promise<ChannelSocket> {
  const { WebSocket } = await import('ws')
  const options: ClientOptions = { headers, perMessageDeflate: false, maxPayload: MAX_FRAME_BYTES }
  const socket: NodeWebSocket = new WebSocket(url, PROTOCOLS, options)
  let id: string | null = null
  socket.on('upgrade', ({ headers: answered }) => {
    const named = answered['x-exec-id'] ?? answered['x-session-id']
    id = typeof named === 'string' ? named : null
  })
  const inbox = createInbox({ pause: () => socket.pause(), resume: () => socket.resume() })
  socket.on('message', (data: Buffer) => inbox.put(data))
  socket.on('close', (code, reason) => inbox.close(code, reason.toString('utf8')))
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve())
    socket.on('error', (error) =>
      reject(new ConnectionError(`${new URL(url).origin}: ${error.message}`, { cause: error })),
    )
    socket.on('unexpected-response', (_request, response) => {
      let text = ''
      response.on('data', (piece: Buffer) => (text += piece.toString('utf8')))
      response.on('end', () => reject(toApiError(response.statusCode ?? 0, parseJson(text))))
    })
  })
  return {
    id,
    send: (channel, bytes) =>
      new Promise((resolve, reject) => {
        socket.send(frameOf(channel, bytes), (error) => {
          if (error) reject(new ConnectionError('the connection is closed', { cause: error }))
          else resolve()
        })
      }),
    receive: inbox.take,
    closed: inbox.closed,
    close: () => socket.close(1000),
  }
}

/** Opens a socket with the platform's own class, as in a browser: the URL carries a ticket. @throws ConnectionError */
export async function openWebSocket(url: string): Promise<ChannelSocket> {
  const socket = new WebSocket(url, PROTOCOLS)
  socket.binaryType = 'arraybuffer'
  const inbox = createInbox({ pause: () => undefined, resume: () => undefined })
  socket.addEventListener('message', ({ data }) => inbox.put(new Uint8Array(data as ArrayBuffer)))
  socket.addEventListener('close', ({ code, reason }) => inbox.close(code, reason))
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new ConnectionError(`${new URL(url).origin} refused the connection`)))
  })
  return {
    id: null,
    send: async (channel, bytes) => socket.send(frameOf(channel, bytes)),
    receive: inbox.take,
    closed: inbox.closed,
    close: () => socket.close(1000),
  }
}

function frameOf(channel: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(bytes.length + 1)
  frame[0] = channel
  frame.set(bytes, 1)
  return frame
}

interface Inbox {
  put(data: Uint8Array): void
  close(code: number, reason: string): void
  take(): Promise<Frame | null>
  closed: ChannelSocket['closed']
}

/** Creates a queue of frames that stops its source while more than `QUEUED_MAX_BYTES` wait. */
function createInbox(source: { pause(): void; resume(): void }): Inbox {
  const frames: Frame[] = []
  let queuedBytes = 0
  let closed: { code: number; reason: string } | null = null
  let wake: (() => void) | null = null
  return {
    put: (data) => {
      frames.push({ channel: data[0] ?? CHANNEL.close, bytes: data.subarray(1) })
      queuedBytes += data.length
      if (queuedBytes > QUEUED_MAX_BYTES) source.pause()
      wake?.()
    },
    close: (code, reason) => {
      closed = { code, reason }
      wake?.()
    },
    take: async () => {
      while (frames.length === 0 && closed === null) await new Promise<void>((resolve) => (wake = resolve))
      const frame = frames.shift() ?? null
      queuedBytes -= frame === null ? 0 : frame.bytes.length + 1
      if (queuedBytes <= QUEUED_MAX_BYTES) source.resume()
      return frame
    },
    closed: () => closed,
  }
}

const PROTOCOLS = ['v5.channel.k8s.io']
const MAX_FRAME_BYTES = 16 * 1024 * 1024
const QUEUED_MAX_BYTES = 1024 * 1024
