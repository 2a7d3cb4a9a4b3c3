import { chmodSync, mkdirSync } from 'node:fs'
import type { Server } from 'node:net'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import { repeat } from '../../../shared/repeat.ts'
import { programFile } from '../../lib/program-files.ts'
import type { Edge, EdgeGate, EdgeLimits, EdgeUse } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { commandHaproxy, findStreams, readUses } from './admin.ts'
import { type CellSideOptions, cellSideOf } from './cell-side.ts'
import { fingerprintOf, readCertificates } from './certificates.ts'
import { haproxyConfig } from './config.ts'
import type { FrontProxySocket } from './config-front-proxy.ts'
import { type GateServer, openGateServer } from './gate-server.ts'
import { haproxyProgram } from './haproxy-program.ts'
import { createEdgeMap, type EdgeMap, grantChange, leadChange, type MapChange, routeChange } from './maps.ts'
import { readServed } from './metrics.ts'
import { edgePaths } from './names.ts'
import { keptPort } from './port.ts'
import { type EdgeProcess, endEdge, endFront, hasConfigurations } from './process.ts'
import { createEdgeSupervisor, type EdgeSupervisor, problemsOf, type SupervisorOptions } from './supervisor.ts'

export interface HaproxyEdgeOptions {
  /** Run directory of the deployment; the edge's files are below it. */
  runDir: string
  /** Address to listen on. */
  host: string
  /** 0: a free port, kept over restarts. */
  port: number
  /** Socket for the proxy in front, in place of that address; null: none. */
  frontProxy: (Omit<FrontProxySocket, 'asks'> & { asks(): FrontProxySocket['asks'] }) | null
  /** The side towards the edges of other cells; null: no fleet. */
  cells: CellSideOptions | null
  /** Host of the sign-in, served by the agent and never routed to a box. */
  signInHost: string
  /** Public scheme. */
  scheme: 'http' | 'https'
  /** Directory of PEM files, certificate and key in one file or side by side; null: no TLS. */
  certificates: string | null
  /** Prefixes of this deployment's tokens, which are not forwarded to boxes. Not empty. */
  tokenPrefixes: readonly string[]
  /** Addresses or CIDR networks whose last `X-Forwarded-For` entry is trusted as the client address. */
  trustedProxies: readonly string[]
  limits: EdgeLimits
  /** Serves the sign-in host, and `/.boxyard/` of every host. */
  pages: HttpHandler
  /** Bounds the connections of a server that the edge asks; default: none. */
  bound?(server: Server): void
  logger: Logger
  clock: Clock
}

/** Creates an edge of HAProxy: a separate process that outlives the agent and is adopted by the next one. */
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
  const maintain = async (): Promise<void> => {
    const expired = grantsWhere(grants, (_key, expiry) => expiry <= clock.now() / 1000)
    if (expired.size > 0) await change(grants, () => expired)
    await inTurn(() => supervisor.refresh())
    await inTurn(() => supervisor.reap())
  }
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
      // One that runs serves older routes until then. Where none does, as after a boot, the API need not wait for it.
      if (mayRun) await opening
      const onError = (error: unknown): void => logger.warn('a chore of the edge failed', { error })
      stopMaintenance = repeat(maintain, { everyMs: MAINTENANCE_MS, onError })
    },
    started: () => opening,
    change: ({ set = [], remove = [] }) => change(routes, () => routeChange(set, remove)),
    lead: ({ set = new Map(), remove = [] }) => change(cells, () => leadChange(set, remove)),
    grant: (given) => change(grants, () => grantChange(given)),
    revoke: (credentials) => {
      const gone = new Set(credentials)
      return change(grants, () => grantsWhere(grants, (key) => gone.has(key.split('@', 1)[0] ?? '')))
    },
    drain: (target, graceMs) => drainTarget({ target, graceMs, clock, processes: () => supervisor.processes() }),
    use: () => readUse(supervisor),
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
  return openGateServer({ paths: edgePaths(runDir), gate, pages, bound: bound ?? (() => undefined), logger, now })
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

async function readUse(supervisor: EdgeSupervisor): Promise<Map<string, EdgeUse>> {
  const use = new Map<string, EdgeUse>()
  for (const { socket } of supervisor.processes()) {
    const uses = await readUses(socket, { isOpen: false }).catch(() => [])
    for (const { boxId, open, requests } of uses) {
      const sum = use.get(boxId) ?? { requests: 0, open: 0 }
      use.set(boxId, { requests: sum.requests + requests, open: sum.open + open })
    }
  }
  return use
}

function grantsWhere(grants: EdgeMap, is: (key: string, expirySeconds: number) => boolean): MapChange {
  const keys = [...grants.keys()].filter((key) => is(key, Number(grants.valueOf(key))))
  return new Map(keys.map((key) => [key, null]))
}

function* entriesOf(change: MapChange): Generator<[string, string]> {
  for (const [key, value] of change) if (value !== null) yield [key, value]
}

interface DrainOptions {
  target: { address: string; port: number }
  graceMs: number
  clock: Clock
  processes(): readonly EdgeProcess[]
}

/** Resolves once no request is open to the target; shuts those down that are after the grace, trying for `DRAIN_CUT_MS` at most. */
async function drainTarget({ target, graceMs, clock, processes }: DrainOptions): Promise<void> {
  const name = `${target.address}:${target.port}`
  const deadline = clock.now() + graceMs
  // Requires two quiet polls: a request that was just routed may not be counted yet.
  for (let quiet = 0; quiet < 2 && clock.now() < deadline + DRAIN_CUT_MS; ) {
    quiet = (await countOpen(processes(), name)) === 0 ? quiet + 1 : 0
    if (quiet === 0 && clock.now() >= deadline) await cutOff(processes(), name)
    if (quiet < 2) await clock.sleep(quiet > 0 ? DRAIN_QUIET_MS : DRAIN_POLL_MS)
  }
}

async function countOpen(processes: readonly EdgeProcess[], name: string): Promise<number> {
  const tables = await Promise.all(processes.map(({ socket }) => readUses(socket, { isOpen: true }).catch(() => [])))
  return tables.flat().reduce((sum, { target, open }) => (target === name ? sum + open : sum), 0)
}

async function cutOff(processes: readonly EdgeProcess[], name: string): Promise<void> {
  for (const { socket } of processes) {
    const ids = await findStreams(socket, name).catch(() => [])
    // Ignores streams that have just ended.
    await commandHaproxy(
      socket,
      ids.map((id) => `shutdown session ${id}`),
    ).catch(() => undefined)
  }
}

const DRAIN_POLL_MS = 20
const DRAIN_CUT_MS = 5_000
const DRAIN_QUIET_MS = 5
const LUA_PATH = programFile('agent/drivers/edge/gate.lua').pathname
const MAINTENANCE_MS = 5_000
const REMEDY =
  'Install haproxy (infra/setup.sh host), see that nothing else listens on BOXYARD_EDGE_PORT and that BOXYARD_EDGE_CERTIFICATES holds good PEM files; it is tried again by itself.'
