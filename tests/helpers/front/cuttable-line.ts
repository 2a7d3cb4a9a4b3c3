import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP line to a server that a test can cut. */
export interface CuttableLine {
  /** Of this end. */
  port: number
  /** Ends what is open; what comes is taken and never answered, or refused. */
  cut(how: 'refuse' | 'hang'): Promise<void>
  /** As if nothing had happened, but nothing comes any more: only the far end is told that this one is gone. */
  freeze(): void
  /** Lets through again; what is open ends. */
  mend(): Promise<void>
  /** Ends what is open, as a server or a balancer may; new connections are let through. */
  drop(): void
  close(): Promise<void>
}

/** A line to `host`:`port`, on a port of its own. */
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
    // Its end must not be that of a frozen line.
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
    mend: async () => {
      isHanging = false
      drop()
      if (!server.listening) await listen(ownPort)
    },
    drop,
    close: stop,
  }
}
