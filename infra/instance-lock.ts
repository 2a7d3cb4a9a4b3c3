import { createHash } from 'node:crypto'
import { createConnection, createServer } from 'node:net'

export interface InstanceLock {
  release(): void
}

/**
 * Makes this process the service on `dataDir` (an existing real path), or returns the pid of the current one. The lock is an abstract
 * socket, so the kernel releases it when the process ends for any reason.
 */
export async function lockInstance(dataDir: string): Promise<InstanceLock | { heldBy: number }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end(String(process.pid))
  })
  const hasLock = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    )
    server.listen({ path: socketName(dataDir) }, () => resolve(true))
  })
  if (!hasLock) return { heldBy: (await findInstance(dataDir)) ?? 0 }
  server.unref()
  return { release: () => server.close() }
}

/** Returns the pid of the process that runs the service on `dataDir`, or null. */
export function findInstance(dataDir: string): Promise<number | null> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = createConnection({ path: socketName(dataDir) })
    socket.setTimeout(2_000, () => socket.destroy())
    socket.on('data', (data) => {
      answer += data.toString()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(/^\d+$/.test(answer) ? Number(answer) : null))
  })
}

function socketName(dataDir: string): string {
  return `\0boxyard-up-${createHash('sha256').update(dataDir).digest('hex').slice(0, 32)}`
}
