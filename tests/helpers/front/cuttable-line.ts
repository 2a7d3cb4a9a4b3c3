import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy to a server. A test can cut it. */
export interface CuttableLine {
  /** Port of the proxy. */
  port: number
  /** Ends open connections. Refuses new ones, or accepts them and never answers. */
  cut(how: 'refuse' | 'hang'): Promise<void>
  /** Stops all traffic, and keeps the client's connections open. The server sees its connections closed. */
  freeze(): void
  /** Forwards only data from clients, and drops the server's answers. */
  mute(): void
  /** Resumes service. Ends open connections. */
  mend(): Promise<void>
  /** Ends open connections, as a server or a load balancer can. Accepts new ones. */
  drop(): void
  close(): Promise<void>
}

/** Opens a proxy to `host`:`port`, on its own port. */
export async function openCuttableLine(host: string, port: number): Promise<CuttableLine> {
  const sockets = new Set<Socket>()
  const farSockets = new Set<Socket>()
  let isHanging = false
  const server = createServer((near) => {
    sockets.add(near)
    near.on('close', () => sockets.delete(near)).on('error', () => undefined)
    if (isHanging) return
    const far = connect(port, host)
    const end = (): void => void (isHanging || near.destroy())
    farSockets.add(far)
    far.on('error', end).on('close', () => farSockets.delete(far) && end())
    near.on('close', () => far.destroy())
    near.pipe(far)
    // The server's end of a frozen connection must not close the client's.
    far.on('end', end).pipe(near, { end: false })
  })
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  await listen(0)
  const ownPort = (server.address() as AddressInfo).port
  const drop = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const stop = async (): Promise<void> => {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    drop()
    await closed
  }
  return {
    port: ownPort,
    cut: async (how) => {
      isHanging = how === 'hang'
      if (how === 'refuse') await stop()
      else drop()
    },
    freeze: () => {
      isHanging = true
      for (const far of farSockets) far.destroy()
    },
    mute: () => {
      for (const far of farSockets) far.unpipe().resume()
    },
    mend: async () => {
      isHanging = false
      drop()
      if (!server.listening) await listen(ownPort)
    },
    drop,
    close: stop,
  }
}
