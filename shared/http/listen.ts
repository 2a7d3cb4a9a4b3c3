import type { Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

export interface ListenOptions {
  host: string
  /** 0 selects a free port. */
  port: number
}

/**
 * Makes a server listen. At boot a service may start before the network. For an address that no interface has yet, waits at most a minute.
 * @throws Error of `listen`, such as EADDRINUSE, and EADDRNOTAVAIL after that minute
 */
export async function listenAt(server: Server, options: ListenOptions): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await listenOnce(server, options)
      return
    } catch (error) {
      const isEarly = (error as NodeJS.ErrnoException).code === 'EADDRNOTAVAIL'
      if (!isEarly || tries === TRIES) throw error
      await pause(PAUSE_MS)
    }
  }
}

function listenOnce(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...options, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Connections that the kernel accepts while the process is busy, so that it does not drop other clients. `somaxconn` bounds it. */
const BACKLOG = 4096
const PAUSE_MS = 500
const TRIES = 120
