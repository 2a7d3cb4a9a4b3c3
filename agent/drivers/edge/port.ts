import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** The port that a file holds, where it may be any; one that was free now, if there is none yet. */
export async function keptPort(path: string): Promise<number> {
  try {
    const kept = Number(readFileSync(path, 'utf8'))
    if (Number.isInteger(kept) && kept > 0 && kept < 65_536) return kept
  } catch {
    // There is none yet.
  }
  const free = await freePort()
  writeFileSync(path, String(free), { mode: 0o600 })
  return free
}

/**
 * Waits a moment for who is about to leave a port.
 * @throws Error that names it, unless nothing listens there then
 */
export async function awaitPort(host: string, port: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const fault = await tryPort(host, port)
    if (fault === null) return
    if (performance.now() > deadline) throw new Error(`Port ${port} of ${host} cannot be had: ${fault.message}`)
    await pause(LOOK_MS)
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

const PATIENCE_MS = 3_000
const LOOK_MS = 25
