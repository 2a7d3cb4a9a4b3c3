import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A server that lets a test handle the first bytes of each connection. They can belong to any protocol. */
export interface OddServer {
  address: string
  port: number
  /** Bytes received on each connection, in the order of connections. */
  received: string[]
  close(): Promise<void>
}

/** Starts a server. It calls `act` once per connection, when the first bytes arrive. */
export async function startOddServer(
  act: (socket: Socket, received: string) => void,
  address = '127.0.0.1',
): Promise<OddServer> {
  const sockets = new Set<Socket>()
  const received: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    const index = received.push('') - 1
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.once('data', (piece) => setImmediate(() => act(socket, piece.toString('latin1'))))
    socket.on('data', (piece) => {
      received[index] += piece.toString('latin1')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  const { port } = server.address() as AddressInfo
  return {
    address,
    port,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
