import { join } from 'node:path'

/** Settings that the supervisor itself needs. The agent and the front read and check all settings. */
export interface UpSettings {
  dataDir: string
  host: string
  port: number
  agentHost: string
  agentPort: number
  dataHost: string
  dataPort: number
  metricsHost: string
  /** Null if no metrics are served. */
  metricsPort: number | null
  edgeHost: string
  edgePort: number
  /** Port for challenges of ACME, or null for none. */
  edgeHttpPort: number | null
  /** Directory of the run directories of all instances. */
  runRoot: string
  logsToStderr: boolean
}

/** Reads the settings. @throws Error that names variable, value and expectation */
export function readUpSettings(environment: Record<string, string | undefined>): UpSettings {
  const text = (name: string, fallback: string): string => environment[name] || fallback
  const port = (name: string, fallback: number): number => {
    const value = text(name, String(fallback))
    if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value)
    throw new Error(`${name}=${JSON.stringify(value)}: expected a port from 0 to 65535.`)
  }
  const dataDir = text('BOXYARD_DATA_DIR', '/var/lib/boxyard')
  if (!dataDir.startsWith('/'))
    throw new Error(`BOXYARD_DATA_DIR=${JSON.stringify(dataDir)}: expected an absolute path.`)
  return {
    dataDir: join(dataDir),
    host: text('BOXYARD_HOST', '127.0.0.1'),
    port: port('BOXYARD_PORT', 8080),
    agentHost: text('BOXYARD_AGENT_HOST', '127.0.0.1'),
    agentPort: port('BOXYARD_AGENT_PORT', 8090),
    dataHost: text('BOXYARD_DATA_HOST', '127.0.0.1'),
    dataPort: port('BOXYARD_DATA_PORT', 8091),
    metricsHost: text('BOXYARD_METRICS_HOST', '127.0.0.1'),
    metricsPort: environment['BOXYARD_METRICS_PORT'] === 'off' ? null : port('BOXYARD_METRICS_PORT', 8092),
    edgeHost: text('BOXYARD_EDGE_HOST', '127.0.0.1'),
    edgePort: port('BOXYARD_EDGE_PORT', 8081),
    edgeHttpPort: environment['BOXYARD_EDGE_HTTP_PORT'] ? port('BOXYARD_EDGE_HTTP_PORT', 80) : null,
    runRoot: join(text('BOXYARD_RUN_DIR', '/run/boxyard')),
    logsToStderr: text('BOXYARD_LOG', 'file') === 'stderr',
  }
}
