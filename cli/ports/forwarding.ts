import { createServer, type Server, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { PortStream } from '../../sdk/typescript/src/port-stream.ts'
import { systemText } from '../output/system-text.ts'
import { countPassedBytes } from '../passing-bytes.ts'

/** A local address that accepts connections. */
export interface Listener {
  host: string
  /** 0 selects a free port. */
  port: number
  /** Where else to listen, for the error of a port that is in use or reserved, such as `--port 0`. */
  elsewhere: string
  take(socket: Socket): void | Promise<void>
}

/**
 * Listens until Ctrl-C, then ends all connections. Calls `tell` with the port of each listener once it listens. @throws Error if a port is
 * in use
 */
export async function listenUntilInterrupted(
  listeners: readonly Listener[],
  tell: (listener: number, port: number) => void,
): Promise<void> {
  const servers: Server[] = []
  const open = new Set<Socket>()
  try {
    for (const [index, listener] of listeners.entries()) {
      const { port, take } = listener
      const server = await listen(listener, (socket) => {
        open.add(socket.once('close', () => open.delete(socket)))
        socket.on('error', () => undefined)
        void take(socket)
      })
      servers.push(server)
      const address = server.address()
      tell(index, typeof address === 'object' && address !== null ? address.port : port)
    }
    await untilInterrupted()
  } finally {
    for (const server of servers) server.close()
    for (const socket of open) socket.destroy()
  }
}

/** Forwards bytes both ways until both directions have ended. @throws Error if one side breaks off */
export async function joinPort(socket: Socket, { readable, writable }: PortStream): Promise<void> {
  const port = Duplex.fromWeb({ readable, writable })
  for (const stream of [socket, port]) stream.on('data', ({ length }: Buffer) => countPassedBytes(length))
  await pipeline(socket, port, socket)
}

/** Returns whether the error only means that a client disconnected. */
export function isLeaving(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}

function listen({ host, port, elsewhere }: Omit<Listener, 'take'>, take: (socket: Socket) => void): Promise<Server> {
  // A client that has sent everything still waits for the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, take)
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isPort = error.code === 'EADDRINUSE' || error.code === 'EACCES'
      const wayOut = isPort ? `. To listen on a free port: ${elsewhere}` : '.'
      reject(new Error(`Port ${port} of ${host}: ${systemText(error) ?? error.message}${wayOut}`))
    })
    server.listen(port, host, () => resolve(server))
  })
}

function untilInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
