import { join } from 'node:path'
import { PAUSE_IMAGE } from '../cluster/node-configuration.ts'
import type { RigCell } from './cells.ts'

/** Port of every front, on the address of its node. */
const FRONT_PORT = 8080
const AGENT_PORT = 8090
const DATA_PORT = 8091
const EDGE_PORT = 8081

/** Files of the mutual TLS between agents, in PEM, of the cells in `directory`. */
export function channelFiles(directory: string, { cell }: RigCell): { ca: string; cert: string; key: string } {
  return {
    ca: join(directory, 'ca.crt'),
    cert: join(directory, `${cell}.crt`),
    key: join(directory, `${cell}.key`),
  }
}

/** Returns the URL of a cell's front. */
export function doorOf({ address }: RigCell): string {
  return `http://${address}:${FRONT_PORT}`
}

/**
 * Returns the settings that all cells of a fleet share, such as BOXYARD_BASE, and the variables that programs need from a shell's
 * environment.
 * @throws Error for a setting that each cell sets itself
 */
export function sharedEnvironment(environment: Readonly<NodeJS.ProcessEnv>): NodeJS.ProcessEnv {
  const given = Object.entries(environment).filter(([, value]) => value !== undefined && value !== '')
  const [own] = given.find(([name]) => EACH_OWN.has(name)) ?? []
  if (own !== undefined) throw new Error(`${own} is set, but each cell of a fleet has its own. Run: unset ${own}`)
  return Object.fromEntries(given.filter(([name]) => name.startsWith('BOXYARD_') || OF_SHELL.has(name)))
}

/** Returns the environment of a cell's agent and front. Pool and base are small, unless `shared` overrides this. */
export function cellEnvironment(cell: RigCell, shared: NodeJS.ProcessEnv, certificates: string): NodeJS.ProcessEnv {
  return { ...SMALL, ...shared, ...ownSettings(cell, certificates) }
}

function ownSettings(cell: RigCell, certificates: string): Record<string, string> {
  const { address } = cell
  const { ca, cert, key } = channelFiles(certificates, cell)
  return {
    BOXYARD_DATA_DIR: cell.dataDir,
    BOXYARD_RUNTIME: 'kubernetes',
    BOXYARD_KUBECONFIG: cell.kubeconfig,
    BOXYARD_NODE: cell.node,
    BOXYARD_POD_IMAGE: PAUSE_IMAGE,
    BOXYARD_CELL: cell.cell,
    BOXYARD_HOST: address,
    BOXYARD_PORT: `${FRONT_PORT}`,
    BOXYARD_AGENT_HOST: address,
    BOXYARD_AGENT_PORT: `${AGENT_PORT}`,
    BOXYARD_AGENT_URL: `https://${address}:${AGENT_PORT}`,
    BOXYARD_CHANNEL_CA: ca,
    BOXYARD_CHANNEL_CERT: cert,
    BOXYARD_CHANNEL_KEY: key,
    BOXYARD_DATA_HOST: address,
    BOXYARD_DATA_PORT: `${DATA_PORT}`,
    BOXYARD_EDGE_HOST: address,
    BOXYARD_EDGE_PORT: `${EDGE_PORT}`,
  }
}

/** Default settings that keep a cell small. */
const SMALL = { BOXYARD_BASE: 'busybox', BOXYARD_POOL_GB: '2', BOXYARD_POOL_STEP_GB: '1' }
/** Settings that are not the same for all cells, or that the cluster of this machine depends on. */
const EACH_OWN: ReadonlySet<string> = new Set(
  [
    ...['DATA_DIR', 'RUN_DIR', 'LOG', 'RUNTIME', 'KUBECONFIG', 'NAMESPACE', 'NODE', 'POD_IMAGE', 'CELL', 'CELL_URL'],
    ...['HOST', 'PORT', 'AGENT_HOST', 'AGENT_PORT', 'AGENT_URL', 'CHANNEL_CA', 'CHANNEL_CERT', 'CHANNEL_KEY'],
    ...['DATA_HOST', 'DATA_PORT', 'DATA_URL', 'EDGE_HOST', 'EDGE_PORT'],
  ].map((name) => `BOXYARD_${name}`),
)
const OF_SHELL: ReadonlySet<string> = new Set(['PATH', 'HOME', 'LANG', 'TZ'])
