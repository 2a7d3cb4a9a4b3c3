import { EventEmitter } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { WebSocket } from 'ws'
import { createMessagePaces, MESSAGE_RATE } from '../../../agent/server/message-pace.ts'
import { createTokenVerifier } from '../../../shared/auth/tokens.ts'
import { PORT_PROTOCOL } from '../../../shared/http/port-frames.ts'
import type { Permission } from '../../../shared/schemas/access.ts'
import { makeDeployment } from '../front/test-front.ts'
import type { ScriptedStream } from './scripted-stream.ts'
import { openStream, RefusedUpgrade, type StreamClient } from './stream-client.ts'
import { type StreamServerOptions, startStreamServer, type TestStreamServer } from './stream-server.ts'

export const BOX = '/v1/projects/demo/boxes/web'
export const CAT = `${BOX}/exec/ws?command=cat&stdin=true`

/** Keys that sign the test tokens. */
export const deployment = makeDeployment()

type ClientOptions = Parameters<typeof openStream>[1]

/** A WebSocket server with scripted commands, and its clients. */
export interface StreamLab extends TestStreamServer {
  token: string
  /** Opens a client and returns it with its command. */
  join(path?: string, options?: ClientOptions): Promise<{ client: StreamClient; command: ScriptedStream }>
  /** Opens a connection that sends nothing. */
  connect(): Promise<Socket>
  /** Upgrades a raw socket, so that a test can break the protocol. */
  shakeHands(): Promise<Socket>
}

/** Starts a lab. The caller must close it. */
export async function startStreamLab(options: Partial<StreamServerOptions> = {}): Promise<StreamLab> {
  const token = await deployment.mint()
  const verifyToken = createTokenVerifier({ keys: () => deployment.tokenKeys, now: Date.now })
  const server = await startStreamServer({ verifyToken, ...options })
  const lab: StreamLab = Object.assign(server, {
    token,
    join: async (path = CAT, given: ClientOptions = {}) => {
      const [client, command] = await Promise.all([
        openStream(`${server.url}${path}`, { token, ...given }),
        server.next(),
      ])
      return { client, command }
    },
    connect: async () => {
      const raw = connect(Number(new URL(server.url).port), '127.0.0.1')
      raw.on('error', () => undefined)
      await new Promise((resolve) => raw.once('connect', resolve))
      return raw
    },
    shakeHands: async () => {
      const raw = await lab.connect()
      raw.write(handshakeOf(token))
      await new Promise((resolve) => raw.once('data', resolve))
      return raw
    },
  })
  return lab
}

/**
 * Returns a function that opens a WebSocket for a box of a project. Each attempt uses another token of the chain `root`. The function
 * resolves with false if the server limits the number of WebSockets.
 */
export function webSocketTaker(
  { url }: StreamLab,
  { path, permission }: { path: string; permission: Permission },
): (user: { box: string; project: string; root: string }, attempt: number) => Promise<boolean> {
  return async ({ box, project, root }, attempt) => {
    const claims = { jti: `tok_${root}_${attempt}`, root, projects: [project], permissions: [permission] }
    const target = path.replace(BOX, `/v1/projects/${project}/boxes/${box}`)
    const options = { token: await deployment.mint(claims), protocols: ['v5.channel.k8s.io', PORT_PROTOCOL] }
    try {
      await openStream(`${url}${target}`, options)
      return true
    } catch (error) {
      if (error instanceof RefusedUpgrade && error.status === 429) return false
      throw error
    }
  }
}

/** Returns a function that sends a message over a new WebSocket of an account. It returns false if this pauses the WebSocket. */
export function messageTaker(clock: { now(): number }): (account: string) => boolean {
  const paces = createMessagePaces(MESSAGE_RATE, clock)
  return (account) => {
    let isPaused = false
    const socket = Object.assign(new EventEmitter(), { pause: () => void (isPaused = true) })
    paces.watch(socket as unknown as WebSocket, account)
    socket.emit('message', Buffer.from('a'))
    socket.emit('close')
    return !isPaused
  }
}

/** Returns the text of an upgrade request. */
export function handshakeOf(token: string, protocols = 'v5.channel.k8s.io'): string {
  return (
    `GET ${CAT} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer ${token}\r\n` +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
    `Sec-WebSocket-Protocol: ${protocols}\r\n\r\n`
  )
}

/** Writes PIECE `pieces` times and respects backpressure. Stops if the output is destroyed. */
export function writePieces(output: Writable, pieces: number): { done: Promise<void>; soFar(): number } {
  let written = 0
  let wake = (): void => undefined
  output.on('drain', () => wake())
  output.on('close', () => wake())
  const work = async (): Promise<void> => {
    for (; written < pieces && !output.destroyed; written++) {
      if (output.write(PIECE)) continue
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return { done: work(), soFar: () => written }
}

/** The chunk that `writePieces` writes. */
export const PIECE = Buffer.alloc(64 * 1024, 'y')
