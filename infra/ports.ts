import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { UpSettings } from './up-settings.ts'

/** An address to listen on, and the variable that sets its port. */
interface Address {
  variable: string
  host: string
  port: number
}

/**
 * Checks that the agent, its edge and the front can listen on their ports. @throws Error naming the first unavailable port, and its
 * variable
 */
export async function assertPortsFree(settings: UpSettings): Promise<void> {
  await assertFree({ variable: 'BOXYARD_AGENT_PORT', host: settings.agentHost, port: settings.agentPort })
  await assertFree({ variable: 'BOXYARD_DATA_PORT', host: settings.dataHost, port: settings.dataPort })
  if (settings.metricsPort !== null)
    await assertFree({ variable: 'BOXYARD_METRICS_PORT', host: settings.metricsHost, port: settings.metricsPort })
  const { edgeHost: host, edgePort, edgeHttpPort } = settings
  await assertFreeOrEdge({ variable: 'BOXYARD_EDGE_PORT', host, port: edgePort }, settings)
  if (edgeHttpPort !== null)
    await assertFreeOrEdge({ variable: 'BOXYARD_EDGE_HTTP_PORT', host, port: edgeHttpPort }, settings)
  await assertFree({ variable: 'BOXYARD_PORT', host: settings.host, port: settings.port })
}

// The edge outlives the agent.
async function assertFreeOrEdge(address: Address, settings: UpSettings): Promise<void> {
  await assertFree(address).catch(async (error: unknown) => {
    if (!(await isEdgeListening(settings, address.port))) throw error
  })
}

function assertFree({ variable, host, port }: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      const what = error.code === 'EADDRINUSE' ? 'is in use' : `is not usable (${error.code})`
      reject(
        new Error(
          `Port ${port} of ${host} ${what}. Stop the program that listens there, or set ${variable} to another port.`,
        ),
      )
    })
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()))
  })
}

/** Tests whether a process of this instance's edge (HAProxy or Caddy) listens on a port. */
async function isEdgeListening({ dataDir, runRoot }: UpSettings, port: number): Promise<boolean> {
  const instance = tryRead(join(dataDir, 'instance')).trim()
  if (instance === '') return false
  // Loaded on demand, because it takes 20 ms of a start.
  const { edgePids } = await import('../agent/drivers/edge/process.ts')
  const sockets = listeningSockets(port)
  const pids = await edgePids(join(runRoot, instance))
  return pids.some((pid) => descriptorsOf(pid).some((descriptor) => sockets.has(descriptor)))
}

/** Returns the sockets that listen on a TCP port, as `/proc/<pid>/fd` names them. */
function listeningSockets(port: number): Set<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = ['tcp', 'tcp6'].flatMap((table) => tryRead(`/proc/net/${table}`).split('\n').slice(1))
  const fields = lines.map((line) => line.trim().split(/\s+/))
  const listening = fields.filter(([, local, , state]) => local?.endsWith(suffix) && state === LISTEN)
  return new Set(listening.map((each) => `socket:[${each[INODE]}]`))
}

function descriptorsOf(pid: number): string[] {
  const directory = `/proc/${pid}/fd`
  const names = orElse([], () => readdirSync(directory))
  return names.map((name) => orElse('', () => readlinkSync(join(directory, name))))
}

function tryRead(path: string): string {
  return orElse('', () => readFileSync(path, 'utf8'))
}

/** Reads a file that may be gone by now, such as a process's. */
function orElse<T>(fallback: T, read: () => T): T {
  try {
    return read()
  } catch {
    return fallback
  }
}

// Columns and state of /proc/net/tcp.
const INODE = 9
const LISTEN = '0A'
