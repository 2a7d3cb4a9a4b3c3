import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy to a server, which a test can cut. */
export interface CuttableLine {
  /** Port of the proxy. */
  port: number
  /** Ends open connections; refuses new ones, or accepts them and never answers. */
  cut(how: 'refuse' | 'hang'): Promise<void>
  /** Stops all traffic without closing the near connections; the far end sees them closed. */
  freeze(): void
  /** Passes on what open connections send, and nothing of the answers. */
  mute(): void
  /** Resumes; ends open connections. */
  mend(): Promise<void>
  /** Ends open connections, as a server or a load balancer may; accepts new ones. */
  drop(): void
  close(): Promise<void>
}

/** Opens a proxy to `host`:`port`, on a port of its own. */
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
    // The far end of a frozen line must not end the near one.
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
