import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { promisify } from 'node:util'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, type Serving, type ServingOptions, serve } from '../../../shared/http/serve.ts'
import { silentLogger } from '../silent-logger.ts'

/** A server on a free port of 127.0.0.1. */
export interface TestServer {
  port: number
  url: string
  serving: Serving
  /** Returns the number of open connections. */
  connections(): Promise<number>
}

/** Starts servers with one handler each, and closes them all. */
export function createHttpServers() {
  const servings: Serving[] = []
  return {
    start: async (
      handler: HttpHandler,
      options: { server?: object; serving?: Partial<ServingOptions> } = {},
    ): Promise<TestServer> => {
      const server = createServer({ ...SERVER_OPTIONS, ...options.server })
      const serving = serve(server, { handler, logger: silentLogger, now: Date.now, ...options.serving })
      servings.push(serving)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const connections = (): Promise<number> => promisify(server.getConnections.bind(server))()
      return { port, url: `http://127.0.0.1:${port}`, serving, connections }
    },
    closeAll: async (): Promise<void> => {
      for (const serving of servings.splice(0)) await serving.drain(AbortSignal.abort())
    },
  }
}

/**
 * Sends these bytes. Resolves with all received data once the server closes, or sends nothing for ten seconds. After the first data, it
 * waits only `silenceMs`.
 */
export function converse(port: number, text: string, silenceMs = 300): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
    let received = ''
    socket.setTimeout(FIRST_MS, () => socket.destroy())
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      socket.setTimeout(silenceMs)
    })
    socket.on('close', () => resolve(received))
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? undefined : reject(error)))
  })
}

/** Opens a connection on which a test sends text step by step. */
export function openConversation(port: number) {
  const socket = connect(port, '127.0.0.1')
  const state = { heard: '', isClosed: false }
  socket.on('data', (chunk) => (state.heard += chunk.toString('latin1')))
  socket.on('close', () => (state.isClosed = true))
  socket.on('error', () => {})
  return {
    socket,
    say: (text: string) => socket.write(text, 'latin1'),
    heard: () => state.heard,
    isClosed: () => state.isClosed,
    closed: new Promise<void>((resolve) => socket.once('close', () => resolve())),
  }
}

const FIRST_MS = 10_000
