import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A server that does with the first bytes of each connection what a test wants, which need not be HTTP. */
export interface OddServer {
  address: string
  port: number
  /** What each connection has sent, in order of the connections. */
  received: string[]
  close(): Promise<void>
}

/** Starts a server; `act` is called once for each connection, when its first bytes have come. */
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
