import { createServer, type Server, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { PortStream } from '../../sdk/typescript/src/port-stream.ts'
import { countPassedBytes } from '../passing-bytes.ts'

/** A local address that accepts connections. */
export interface Listener {
  host: string
  /** 0 selects a free port. */
  port: number
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
    for (const [index, { host, port, take }] of listeners.entries()) {
      const server = await listen({ host, port }, (socket) => {
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

function listen({ host, port }: { host: string; port: number }, take: (socket: Socket) => void): Promise<Server> {
  // A client that has sent everything still waits for the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, take)
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new Error(`Port ${port} of ${host}: ${error.message}`)))
    server.listen(port, host, () => resolve(server))
  })
}

function untilInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
