import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Returns the port stored in a file, or stores a free one. */
export async function keptPort(path: string): Promise<number> {
  try {
    const kept = Number(readFileSync(path, 'utf8'))
    if (Number.isInteger(kept) && kept > 0 && kept < 65_536) return kept
  } catch {
    // No file yet.
  }
  const free = await freePort()
  writeFileSync(path, String(free), { mode: 0o600 })
  return free
}

/**
 * Waits up to 3 s until a port is free.
 * @throws Error that names the port if it stays in use
 */
export async function awaitPort(host: string, port: number): Promise<void> {
  const deadline = performance.now() + WAIT_MS
  for (;;) {
    const fault = await tryPort(host, port)
    if (fault === null) return
    if (performance.now() > deadline) throw new Error(`Port ${port} of ${host} is not available: ${fault.message}`)
    await pause(POLL_MS)
  }
}

function tryPort(host: string, port: number): Promise<Error | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

const WAIT_MS = 3_000
const POLL_MS = 25
