import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createLimiter } from '../../../shared/locks.ts'
import { repeat } from '../../../shared/repeat.ts'
import { runOk } from '../../lib/run.ts'
import type { Edge } from '../../ports/edge/edge.ts'
import { caddyConfig } from './caddy-config.ts'
import { caddyProgram } from './caddy-program.ts'
import { readPemPairs } from './certificates.ts'
import { ASK_HOST } from './config-front-proxy.ts'
import { createHaproxyEdge, type HaproxyEdgeOptions } from './haproxy.ts'
import { keptText } from './kept-text.ts'
import { frontPaths } from './names.ts'
import { keptPort } from './port.ts'
import { endEdge } from './process.ts'
import { createEdgeSupervisor, problemsOf } from './supervisor.ts'

export interface CaddyEdgeOptions extends Omit<HaproxyEdgeOptions, 'frontProxy' | 'scheme' | 'trustedProxies'> {
  /** Caddy's directory below the data directory: accounts, certificates and log. */
  storage: string
  /** E-mail address of the ACME account. */
  email: string
  /** URL of an ACME directory. Null for Caddy's defaults. */
  directory: string | null
  /** PEM file of the CA's root certificate. Null for the host's trust store. */
  root: string | null
  /** Port for HTTP-01 challenges and redirects to HTTPS. Null for none. */
  httpPort: number | null
  /** The public port, known once the edge is open. Null for 443. */
  seenPort(): number | null
}

/**
 * Creates an edge with automatic certificates. Caddy, as its own process, is in front of an HAProxy that only Caddy can reach. Certificates
 * in `certificates` take precedence for their names.
 */
export function createCaddyEdge(options: CaddyEdgeOptions): Edge {
  const { runDir, clock, logger } = options
  const paths = frontPaths(runDir)
  const state = { port: options.port, ask: { port: 0, path: '' } }
  const frontProxy = {
    socket: paths.socket,
    user: USER,
    asks: () => ({ port: state.ask.port, digest: createHash('sha256').update(state.ask.path).digest('hex') }),
  }
  const edge = createHaproxyEdge({ ...options, certificates: null, scheme: 'https', trustedProxies: [], frontProxy })
  const ports = (): number[] => [state.port, ...(options.httpPort === null ? [] : [options.httpPort])]
  const { run: inTurn } = createLimiter(1)
  const supervisor = createEdgeSupervisor({
    program: caddyProgram({ runDir, storage: options.storage, host: options.host, ports }),
    what: 'Caddy',
    configFor: (generation) => caddyConfig(settingsOf(options, state), generation),
    prepare: () => prepare(options),
    adopt: async () => undefined,
    ...{ inTurn, logger, clock },
  })
  let stopMaintenance = (): void => undefined
  return {
    ...edge,
    get port() {
      return state.port
    },
    get cellPort() {
      return edge.cellPort
    },
    open: async (served) => {
      // An HAProxy of earlier settings without ACME would keep the port while it has connections.
      if (!existsSync(paths.directory)) await endEdge(runDir)
      mkdirSync(paths.directory, { recursive: true, mode: 0o750 })
      if (options.port === 0) state.port = await keptPort(paths.port)
      state.ask = { port: await keptPort(paths.askPort), path: keptPath(paths.askPath) }
      await edge.open(served)
      await edge.started()
      await inTurn(() => supervisor.open())
      const onError = (error: unknown): void => logger.warn('a maintenance task of Caddy failed', { error })
      stopMaintenance = repeat(() => inTurn(() => supervisor.refresh()), { everyMs: MAINTENANCE_MS, onError })
    },
    problems: async () => [...(await edge.problems()), ...problemsOf(supervisor, REMEDY)],
    close: async ({ release }) => {
      stopMaintenance()
      await supervisor.close()
      await edge.close({ release: false })
      if (release) await endEdge(runDir)
    },
  }
}

function settingsOf(
  options: CaddyEdgeOptions,
  { port, ask }: { port: number; ask: { port: number; path: string } },
): Parameters<typeof caddyConfig>[0] {
  const { host, httpPort, email, directory, root, certificates } = options
  return {
    ...{ paths: frontPaths(options.runDir), host, port, httpPort, seenPort: options.seenPort(), email, directory },
    roots: root === null ? null : readFileSync(root, 'utf8'),
    certificates: certificates === null ? [] : readPemPairs(certificates),
    askUrl: `http://${ASK_HOST}:${ask.port}${ask.path}`,
  }
}

// Caddy's group may read the directory, and Caddy write only in `own`, so it cannot plant links where root writes.
async function prepare({ runDir, storage, root }: CaddyEdgeOptions): Promise<void> {
  const paths = frontPaths(runDir)
  await runOk('install', ['-d', '-o', 'root', '-g', USER, '-m', '2750', paths.directory])
  await runOk('install', ['-d', '-o', USER, '-g', USER, '-m', '0700', paths.own])
  mkdirSync(storage, { recursive: true, mode: 0o700 })
  if (root === null) return
  writeFileSync(paths.roots, readFileSync(root))
  chmodSync(paths.roots, 0o640)
}

/** Returns the secret path of certificate requests. */
function keptPath(file: string): string {
  return keptText(file, () => `/${randomBytes(32).toString('base64url')}`)
}

/** The user of Debian's package. */
const USER = 'caddy'
const MAINTENANCE_MS = 5_000
const REMEDY =
  'Install caddy (infra/setup.sh host, with BOXYARD_EDGE_ACME set), check that no other program listens on BOXYARD_EDGE_PORT and BOXYARD_EDGE_HTTP_PORT, and that BOXYARD_EDGE_CERTIFICATES and BOXYARD_EDGE_ACME_ROOT are valid PEM. The agent retries automatically.'
