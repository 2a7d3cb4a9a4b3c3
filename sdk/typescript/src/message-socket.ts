import type { ClientOptions, WebSocket as NodeWebSocket } from 'ws'
import { originOf } from './addresses.ts'
import { ConnectionError } from './api-error.ts'
import { createInbox, type Message } from './inbox.ts'
import { parseJson, toApiError } from './problems.ts'
import { unlessAborted } from './unless-aborted.ts'

/**
 * A WebSocket with a bounded queue. Stops reading the socket while the queue is full. Closes it with OVERFLOW if the platform reads it
 * regardless.
 */
export interface MessageSocket {
  /** `X-Exec-Id` or `X-Session-Id` of the answer. Null if the platform hides headers and no ticket held the id. */
  readonly id: string | null
  /** Sends a message and waits until it is on its way. @throws ConnectionError */
  send(message: Message): Promise<void>
  /** Returns the next message, or null after the last one of a closed socket. */
  receive(): Promise<Message | null>
  /** Returns the next message if it has arrived, without waiting. */
  receiveReady(): Message | null
  /** Code and reason of the close, or null before it. */
  closed(): { code: number; reason: string } | null
  close(): void
  /** Closes at once, drops unread messages, and rejects pending reads with `reason`. */
  abort(reason: unknown): void
}

/** The address of a socket. */
export interface SocketAddress {
  url: string
  protocol: string
  /** Cancels the opening, and rejects with its reason. */
  signal?: AbortSignal | undefined
  /** Maximum bytes that wait for the reader before the socket is no longer read. Default: 1 MiB. */
  queuedMaxBytes?: number | undefined
}

/** Opens a socket with the `ws` package, which sends headers. @throws ApiError of a refusal, ConnectionError */
export async function openNodeSocket(
  { url, protocol, signal, queuedMaxBytes, openMs = OPEN_MS }: SocketAddress & { openMs?: number },
  headers: Record<string, string>,
): Promise<MessageSocket> {
  const { WebSocket } = await import('ws')
  signal?.throwIfAborted()
  const options: ClientOptions = {
    headers,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    ...(isUnseen(url) ? { generateMask: leaveUnmasked } : {}),
  }
  const socket: NodeWebSocket = new WebSocket(url, [protocol], options)
  let id: string | null = null
  socket.on('upgrade', ({ headers: answered }) => {
    const named = answered['x-exec-id'] ?? answered['x-session-id']
    id = typeof named === 'string' ? named : null
  })
  const inbox = createInbox({ pause: () => socket.pause(), resume: () => socket.resume() }, queuedMaxBytes)
  socket.on('message', (data: Buffer, isBinary) => inbox.put(isBinary ? data : data.toString('utf8')))
  socket.on('close', (code, reason) => inbox.close(code, reason.toString('utf8')))
  await untilOpen(socket, { url, signal, openMs })
  return {
    id,
    send: (message) =>
      new Promise((resolve, reject) => {
        socket.send(message, (error) => {
          if (error) reject(new ConnectionError('the connection is closed', { cause: error }))
          else resolve()
        })
      }),
    receive: inbox.take,
    receiveReady: inbox.takeReady,
    closed: inbox.closed,
    close: () => socket.close(1000),
    abort: (reason) => {
      inbox.fail(reason)
      socket.close(1000)
      // Reads on, so that the answer to the close arrives.
      socket.resume()
      const timer = setTimeout(() => socket.terminate(), CLOSE_MS)
      socket.once('close', () => clearTimeout(timer))
    },
  }
}

/** Resolves once a socket is open. The signal ends the opening, which then rejects with its reason. @throws ApiError, ConnectionError */
async function untilOpen(
  socket: NodeWebSocket,
  { url, signal, openMs }: { url: string; signal: AbortSignal | undefined; openMs: number },
): Promise<void> {
  let late: ReturnType<typeof setTimeout> | undefined
  // Terminates the socket, because one that is closed while it connects would still connect.
  const giveUp = (): void => socket.terminate()
  signal?.addEventListener('abort', giveUp, { once: true })
  const opened = new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve())
    socket.on('error', (error) =>
      reject(new ConnectionError(`${originOf(new URL(url))}: ${error.message}`, { cause: error })),
    )
    socket.on('unexpected-response', (_request, response) => {
      let text = ''
      const refuse = (): void => {
        reject(toApiError(response.statusCode ?? 0, parseJson(text)))
        response.destroy()
      }
      response.on('data', (piece: Buffer) => {
        text += piece.toString('utf8')
        if (text.length > REFUSAL_LENGTH) refuse()
      })
      response.on('end', refuse).on('error', refuse)
    })
    // Timed from outside, because a slow answer would never be idle.
    late = setTimeout(() => {
      reject(new ConnectionError(`${originOf(new URL(url))} did not answer within ${openMs / 1000} s.`))
      socket.terminate()
    }, openMs)
  })
  await unlessAborted(opened, signal).finally(() => {
    clearTimeout(late)
    signal?.removeEventListener('abort', giveUp)
  })
}

/** Returns whether no plain HTTP proxy can see the bytes, because they are encrypted or stay on this machine. */
function isUnseen(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'wss:' || LOOPBACK.test(hostname)
}

/** Makes a mask of zeros, which spares both ends a pass over every byte. Masks only exist for proxies (RFC 6455, section 10.3). */
function leaveUnmasked(mask: Uint8Array): void {
  mask.fill(0)
}

/** Opens a socket with the platform's own class, as a browser does. The URL carries a ticket. @throws ConnectionError */
export async function openWebSocket(address: SocketAddress): Promise<MessageSocket> {
  const { url, protocol, signal } = address
  const { WebSocketStream: StreamSocket } = globalThis as { WebSocketStream?: StreamSocketClass }
  signal?.throwIfAborted()
  if (StreamSocket) return openStreamSocket(new StreamSocket(url, { protocols: [protocol] }), address)
  const socket = new WebSocket(url, [protocol])
  // The browser types accept no bytes that could be shared.
  const sink = socket as { send(message: Message): void }
  socket.binaryType = 'arraybuffer'
  const inbox = createInbox({ pause: () => undefined, resume: () => undefined })
  socket.addEventListener('message', ({ data }) => {
    const message = typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer)
    if (inbox.closed() === null && inbox.put(message) > UNPAUSED_MAX_BYTES) {
      inbox.close(OVERFLOW, 'Output arrived faster than the program read it.')
      socket.close(OVERFLOW, 'overflow')
    }
  })
  socket.addEventListener('close', ({ code, reason }) => inbox.close(code, reason))
  const opened = new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () =>
      reject(new ConnectionError(`${originOf(new URL(url))} refused the connection`)),
    )
  })
  await unlessAborted(opened, signal).catch((error: unknown) => {
    socket.close()
    throw error
  })
  return {
    id: null,
    send: async (message) => {
      // Such a socket drops the message without an error.
      if (socket.readyState !== WebSocket.OPEN) throw new ConnectionError('the connection is closed')
      sink.send(message)
    },
    receive: inbox.take,
    receiveReady: inbox.takeReady,
    closed: inbox.closed,
    close: () => socket.close(1000),
    abort: (reason) => {
      inbox.fail(reason)
      socket.close(1000)
    },
  }
}

/**
 * A WebSocket as streams, as Chromium implements it. Unlike the standard class, it lets the client read no faster than it consumes
 * messages.
 */
interface StreamSocketInstance {
  readonly opened: Promise<{ readable: ReadableStream<ArrayBuffer | string>; writable: WritableStream<Message> }>
  readonly closed: Promise<{ closeCode: number; reason: string }>
  close(info: { closeCode: number }): void
}
type StreamSocketClass = new (url: string, options: { protocols: string[] }) => StreamSocketInstance

async function openStreamSocket(
  socket: StreamSocketInstance,
  { url, signal, queuedMaxBytes }: SocketAddress,
): Promise<MessageSocket> {
  let isPaused = false
  let isLeft = false
  let wake = (): void => undefined
  const resume = (): void => {
    isPaused = false
    wake()
  }
  const inbox = createInbox({ pause: () => (isPaused = true), resume }, queuedMaxBytes)
  const ended = socket.closed.catch(() => ({ closeCode: ABNORMAL, reason: '' }))
  const opened = socket.opened.catch((error: unknown) => {
    throw new ConnectionError(`${originOf(new URL(url))} refused the connection`, { cause: error })
  })
  const { readable, writable } = await unlessAborted(opened, signal).catch((error: unknown) => {
    socket.close({ closeCode: 1000 })
    throw error
  })
  const writer = writable.getWriter()
  writer.closed.catch(() => undefined)
  const read = async (): Promise<void> => {
    const reader = readable.getReader()
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
      if (done || value === undefined) break
      inbox.put(typeof value === 'string' ? value : new Uint8Array(value))
      while (isPaused && !isLeft) await new Promise<void>((resolve) => (wake = resolve))
    }
    const { closeCode, reason } = await ended
    inbox.close(closeCode, reason)
  }
  void read()
  const close = (): void => {
    isLeft = true
    wake()
    socket.close({ closeCode: 1000 })
  }
  return {
    id: null,
    send: (message) =>
      writer.write(message).catch((error: unknown) => {
        throw new ConnectionError('the connection is closed', { cause: error })
      }),
    receive: inbox.take,
    receiveReady: inbox.takeReady,
    closed: inbox.closed,
    close,
    abort: (reason) => {
      inbox.fail(reason)
      close()
    },
  }
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/
/** Close code that reports a lost connection (RFC 6455, 7.1.5). */
const ABNORMAL = 1006
/** The service sends at most 64 KiB of output, or of a port, in one message. */
const MAX_FRAME_BYTES = 1024 * 1024
/** A sleeping box answers for its port once it has woken. */
const OPEN_MS = 60_000
/** Time for the other end to answer a close after an abort. */
const CLOSE_MS = 1_000
/** Maximum length that the client reads of an error response. A problem has a few hundred letters. */
const REFUSAL_LENGTH = 1024 * 1024
/** Part of what a page processes in a second. */
const UNPAUSED_MAX_BYTES = 4 * 1024 * 1024
/** Close code for a socket that cannot be paused. */
export const OVERFLOW = 4008
