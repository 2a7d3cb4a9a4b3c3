import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync } from 'node:fs'
import type { Server } from 'node:net'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import { repeat } from '../../../shared/repeat.ts'
import { programFile } from '../../lib/program-files.ts'
import type { Edge, EdgeGate, EdgeLimits } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { commandHaproxy } from './admin.ts'
import { type CellSideOptions, cellSideOf } from './cell-side.ts'
import { fingerprintOf, readCertificates } from './certificates.ts'
import { haproxyConfig } from './config.ts'
import type { FrontProxySocket } from './config-front-proxy.ts'
import { type GateServer, openGateServer } from './gate-server.ts'
import { haproxyProgram } from './haproxy-program.ts'
import { keptText } from './kept-text.ts'
import { createEdgeMap, type EdgeMap, grantChange, leadChange, type MapChange, routeChange } from './maps.ts'
import { readServed } from './metrics.ts'
import { credentialOf, edgePaths } from './names.ts'
import { keptPort } from './port.ts'
import { endEdge, endFront, hasConfigurations } from './process.ts'
import { drainTarget, readCredentials, readUse, UngrantedLooks } from './streams.ts'
import { createEdgeSupervisor, type EdgeSupervisor, problemsOf, type SupervisorOptions } from './supervisor.ts'

export interface HaproxyEdgeOptions {
  /** Run directory of the deployment, above the edge's files. */
  runDir: string
  /** Address to listen on. */
  host: string
  /** 0 for a free port, kept over restarts. */
  port: number
  /** Socket for the proxy in front, used in place of that address. Null without one. */
  frontProxy: (Omit<FrontProxySocket, 'asks'> & { asks(): FrontProxySocket['asks'] }) | null
  /** The side towards the edges of other cells. Null without a fleet. */
  cells: CellSideOptions | null
  /** Host of the sign-in, served by the agent and never routed to a box. */
  signInHost: string
  /** Public scheme. */
  scheme: 'http' | 'https'
  /** Directory of PEM files, with certificate and key in one file or side by side. Null without TLS. */
  certificates: string | null
  /** Prefixes of this deployment's tokens, which the edge does not forward to boxes. Not empty. */
  tokenPrefixes: readonly string[]
  /** Addresses or CIDR networks of proxies. The edge takes their last `X-Forwarded-For` entry for the client address. */
  trustedProxies: readonly string[]
  limits: EdgeLimits
  /** Serves the sign-in host, and `/.boxyard/` of every host. */
  pages: HttpHandler
  /** Limits the connections of a server that the edge queries. Default: unlimited. */
  bound?(server: Server): void
  logger: Logger
  clock: Clock
}

/** Creates an edge of HAProxy, a separate process that outlives the agent. The next agent adopts it. */
export function createHaproxyEdge(options: HaproxyEdgeOptions): Edge {
  const { runDir, logger, clock } = options
  const paths = edgePaths(runDir)
  const routes = createEdgeMap(paths.routes)
  const grants = createEdgeMap(paths.grants)
  const cells = createEdgeMap(paths.cells)
  const maps = options.cells === null ? [routes, grants] : [routes, grants, cells]
  const { run: inTurn } = createLimiter(1)
  const state = { port: options.port, cellPort: options.cells?.port ?? 0 }
  const supervisor = createEdgeSupervisor({ ...supervisionOf(options, state, maps), inTurn })
  let gateServer: GateServer | null = null
  let opening = Promise.resolve()
  let stopMaintenance = (): void => undefined

  const change = (map: EdgeMap, changeOf: () => MapChange): Promise<void> =>
    inTurn(() => serveChange(supervisor, map.change(changeOf()), maps))
  const fallback = (): GateServer['fallback'] | null => gateServer?.fallback ?? null
  const held = holdGrants({ grants, supervisor, fallback, clock, change: (changeOf) => change(grants, changeOf) })
  const maintain = (): Promise<void> => inTurn(() => supervisor.refresh()).then(() => inTurn(() => supervisor.reap()))
  return {
    get port() {
      return state.port
    },
    get cellPort() {
      return options.cells === null ? null : state.cellPort
    },
    open: async (served) => {
      // A Caddy of earlier settings with ACME may still have the port.
      if (options.frontProxy === null) await endFront(runDir)
      makeDirectories(paths)
      const mayRun = hasConfigurations(paths.directory)
      gateServer = await openGate(options, served.gate)
      routes.reset(entriesOf(routeChange(served.routes, [])))
      grants.reset(entriesOf(grantChange(served.grants)))
      if (options.frontProxy === null && options.port === 0) state.port = await keptPort(paths.port)
      if (options.cells?.port === 0) state.cellPort = await keptPort(paths.cellPort)
      opening = inTurn(() => supervisor.open())
      opening.catch(() => undefined)
      // A running process serves older routes until then. If none runs, as after a boot, the API need not wait for it.
      if (mayRun) await opening
      // For grants that ended while no agent ran.
      held.look()
      const onError = (error: unknown): void => logger.warn('a maintenance task of the edge failed', { error })
      const stopExpiry = repeat(held.endExpired, { everyMs: EXPIRY_MS, onError })
      const stopChores = repeat(maintain, { everyMs: MAINTENANCE_MS, onError })
      stopMaintenance = () => (stopExpiry(), stopChores())
    },
    started: () => opening,
    change: ({ set = [], remove = [] }) => change(routes, () => routeChange(set, remove)),
    lead: ({ set = new Map(), remove = [] }) => change(cells, () => leadChange(set, remove)),
    grant: (given) => change(grants, () => grantChange(given)),
    revoke: held.revoke,
    credentials: () => readCredentials(supervisor.processes()),
    drain: (target, graceMs) =>
      drainTarget({ target, graceMs, clock, fallback: fallback(), processes: () => supervisor.processes() }),
    use: () => readUse(supervisor.processes()),
    metrics: async () => ({ starts: supervisor.starts(), served: await readServed(supervisor.processes(), paths) }),
    problems: async () => problemsOf(supervisor, REMEDY),
    close: async ({ release }) => {
      stopMaintenance()
      await supervisor.close()
      const server = gateServer
      gateServer = null
      await inTurn(() => server?.close() ?? Promise.resolve())
      if (release) await endEdge(runDir)
    },
  }
}

function openGate({ runDir, pages, bound, logger, clock }: HaproxyEdgeOptions, gate: EdgeGate): Promise<GateServer> {
  const now = (): number => clock.now()
  const refusalMark = refusalMarkOf(runDir)
  const paths = edgePaths(runDir)
  return openGateServer({ paths, gate, refusalMark, pages, bound: bound ?? (() => undefined), logger, now })
}

function refusalMarkOf(runDir: string): string {
  return keptText(edgePaths(runDir).refusalMark, () => randomBytes(32).toString('hex'))
}

function makeDirectories({ directory, jail }: ReturnType<typeof edgePaths>): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  chmodSync(directory, 0o700)
  mkdirSync(jail, { recursive: true })
  chmodSync(jail, 0o755)
}

function supervisionOf(
  options: HaproxyEdgeOptions,
  state: { port: number; cellPort: number },
  maps: readonly EdgeMap[],
): Omit<SupervisorOptions, 'inTurn'> {
  const { runDir, host, signInHost, scheme, certificates, tokenPrefixes, trustedProxies, frontProxy, logger, clock } =
    options
  const luaFingerprint = fingerprintOf([LUA_PATH])
  const settings = (): Parameters<typeof haproxyConfig>[0] => ({
    ...{ paths: edgePaths(runDir), host, port: state.port, signInHost, scheme, tokenPrefixes, trustedProxies },
    limits: options.limits,
    refusalMark: refusalMarkOf(runDir),
    cells: options.cells && cellSideOf(options.cells, { port: state.cellPort, paths: edgePaths(runDir) }),
    frontProxy: frontProxy && { ...frontProxy, asks: frontProxy.asks() },
    certificates: certificates === null ? null : readCertificates(certificates),
    lua: { path: LUA_PATH, fingerprint: luaFingerprint },
  })
  return {
    program: haproxyProgram(runDir),
    what: 'the edge',
    ...{ logger, clock },
    configFor: (generation) => haproxyConfig(settings(), generation),
    prepare: () => {
      for (const map of maps) map.write()
    },
    adopt: async ({ socket }) => {
      for (const map of maps) await map.sync(socket)
    },
  }
}

// Changes retired processes as well, which may get one more request per kept-alive connection.
async function serveChange(
  supervisor: EdgeSupervisor,
  commands: readonly string[],
  maps: readonly EdgeMap[],
): Promise<void> {
  const [current, ...retired] = supervisor.processes()
  if (commands.length === 0 || !current) return
  for (const { socket } of retired) await commandHaproxy(socket, commands).catch(() => undefined)
  try {
    await commandHaproxy(current.socket, commands)
  } catch {
    try {
      for (const map of maps) await map.sync(current.socket)
    } catch {
      await supervisor.revive()
    }
  }
}

/** Ends grants, and with them the requests that they admitted. */
function holdGrants({
  grants,
  supervisor,
  fallback,
  clock,
  change,
}: {
  grants: EdgeMap
  supervisor: EdgeSupervisor
  fallback(): GateServer['fallback'] | null
  clock: Clock
  change(changeOf: () => MapChange): Promise<void>
}) {
  const processes = (): ReturnType<EdgeSupervisor['processes']> => supervisor.processes()
  const granted = (): Set<string> => new Set(Array.from(grants.keys(), credentialOf))
  const looks = new UngrantedLooks({ processes, granted, fallback, clock })
  const withdraw = async (changeOf: () => MapChange): Promise<void> => {
    await change(changeOf)
    looks.begin()
    // The periodic task tries again.
    await looks.look().catch(() => undefined)
  }
  return {
    /** Begins looks, which the next periodic tasks continue. */
    look: () => looks.begin(),
    revoke: (credentials: readonly string[]): Promise<void> => {
      const gone = new Set(credentials)
      return withdraw(() => grantsWhere(grants, (key) => gone.has(credentialOf(key))))
    },
    endExpired: async (): Promise<void> => {
      const expired = grantsWhere(grants, (_key, expiry) => expiry <= clock.now() / 1000)
      if (expired.size > 0) await withdraw(() => expired)
      else await looks.look()
    },
  }
}

function grantsWhere(grants: EdgeMap, is: (key: string, expirySeconds: number) => boolean): MapChange {
  const keys = [...grants.keys()].filter((key) => is(key, Number(grants.valueOf(key))))
  return new Map(keys.map((key) => [key, null]))
}

function* entriesOf(change: MapChange): Generator<[string, string]> {
  for (const [key, value] of change) if (value !== null) yield [key, value]
}

const LUA_PATH = programFile('agent/drivers/edge/gate.lua').pathname
const MAINTENANCE_MS = 5_000
/** Interval of looks for expired grants, so that the requests they admitted end within a second. */
const EXPIRY_MS = 500
const REMEDY =
  'Install haproxy (infra/setup.sh host), check that no other program listens on BOXYARD_EDGE_PORT, and that BOXYARD_EDGE_CERTIFICATES has valid PEM files. The agent retries automatically.'
