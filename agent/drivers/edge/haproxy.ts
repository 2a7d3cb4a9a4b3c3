import { chmodSync, mkdirSync } from 'node:fs'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { Edge, EdgeUse } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { commandHaproxy, readUses } from './admin.ts'
import { fingerprintOf, readCertificates } from './certificates.ts'
import { haproxyConfig } from './config.ts'
import type { FrontProxySocket } from './config-front-proxy.ts'
import { drainTarget } from './drain.ts'
import { type GateServer, openGateServer } from './gate-server.ts'
import { haproxyProgram } from './haproxy-program.ts'
import { createEdgeMap, type EdgeMap, grantChange, type MapChange, routeChange } from './maps.ts'
import { readServed } from './metrics.ts'
import { edgePaths } from './names.ts'
import { keptPort } from './port.ts'
import { endEdge, endFront } from './process.ts'
import { createEdgeSupervisor, type EdgeSupervisor, problemsOf, type SupervisorOptions } from './supervisor.ts'

export interface HaproxyEdgeOptions {
  /** Of this deployment; the edge keeps its files below it. */
  runDir: string
  /** Address to listen on. */
  host: string
  /** 0: a free one, which the edge keeps over restarts. */
  port: number
  /** Where it listens in place of that, for what stands in front of it; null: nothing does. */
  door: (Omit<FrontProxySocket, 'asks'> & { asks(): FrontProxySocket['asks'] }) | null
  /** The host that serves pages of the agent's own, and never what a box says. */
  signInHost: string
  /** What browsers say before `://`. */
  scheme: 'http' | 'https'
  /** A directory of PEM files, certificate and key in one or side by side; null: plain HTTP. */
  certificates: string | null
  /** How tokens of this deployment begin, so that no box is given one. Not empty. */
  tokenPrefixes: readonly string[]
  /** Addresses, or networks in CIDR notation, whose `X-Forwarded-For` says for whom they ask, as its last entry. */
  trustedProxies: readonly string[]
  /** Serves the sign-in host, and `/.boxyard/` of every host. */
  pages: HttpHandler
  logger: Logger
  clock: Clock
}

/** An edge of Debian's HAProxy, a process of its own that outlives this one and is adopted by the next. */
export function createHaproxyEdge(options: HaproxyEdgeOptions): Edge {
  const { runDir, logger, clock } = options
  const paths = edgePaths(runDir)
  const routes = createEdgeMap(paths.routes)
  const grants = createEdgeMap(paths.grants)
  const { run: inTurn } = createLimiter(1)
  const state = { port: options.port }
  const supervisor = createEdgeSupervisor({ ...supervisionOf(options, state, [routes, grants]), inTurn })
  let gateServer: GateServer | null = null
  let chores: NodeJS.Timeout | undefined

  const change = (map: EdgeMap, changeOf: () => MapChange): Promise<void> =>
    inTurn(() => serveChange(supervisor, map.change(changeOf()), [routes, grants]))
  const doChores = async (): Promise<void> => {
    const expired = grantsWhere(grants, (_key, expiry) => expiry <= clock.now() / 1000)
    if (expired.size > 0) await change(grants, () => expired)
    await inTurn(() => supervisor.refresh())
    await inTurn(() => supervisor.reap())
  }
  return {
    get port() {
      return state.port
    },
    open: async (served) => {
      // With other settings before there may be one, where this one is to listen.
      if (options.door === null) await endFront(runDir)
      mkdirSync(paths.directory, { recursive: true, mode: 0o700 })
      chmodSync(paths.directory, 0o700)
      mkdirSync(paths.jail, { recursive: true })
      chmodSync(paths.jail, 0o755)
      gateServer = await openGateServer({
        paths,
        gate: served.gate,
        pages: options.pages,
        logger,
        now: () => clock.now(),
      })
      routes.reset(entriesOf(routeChange(served.routes, [])))
      grants.reset(entriesOf(grantChange(served.grants)))
      if (options.door === null && options.port === 0) state.port = await keptPort(paths.port)
      await inTurn(() => supervisor.open())
      chores = setInterval(() => {
        doChores().catch((error: unknown) => logger.warn('a chore of the edge failed', { error }))
      }, CHORES_MS).unref()
    },
    change: ({ set = [], remove = [] }) => change(routes, () => routeChange(set, remove)),
    grant: (given) => change(grants, () => grantChange(given)),
    revoke: (credentials) => {
      const gone = new Set(credentials)
      return change(grants, () => grantsWhere(grants, (key) => gone.has(key.split('@', 1)[0] ?? '')))
    },
    drain: (target, graceMs) => drainTarget({ target, graceMs, clock, processes: () => supervisor.processes() }),
    use: () => readUse(supervisor),
    figures: async () => ({ starts: supervisor.starts(), served: await readServed(supervisor.processes(), paths) }),
    problems: async () => problemsOf(supervisor, REMEDY),
    close: async ({ release }) => {
      clearInterval(chores)
      await supervisor.close()
      const server = gateServer
      gateServer = null
      await inTurn(() => server?.close() ?? Promise.resolve())
      if (release) await endEdge(runDir)
    },
  }
}

function supervisionOf(
  options: HaproxyEdgeOptions,
  state: { port: number },
  maps: readonly EdgeMap[],
): Omit<SupervisorOptions, 'inTurn'> {
  const { runDir, host, signInHost, scheme, certificates, tokenPrefixes, trustedProxies, door, logger, clock } = options
  const luaFingerprint = fingerprintOf([LUA_PATH])
  const settings = (): Parameters<typeof haproxyConfig>[0] => ({
    ...{ paths: edgePaths(runDir), host, port: state.port, signInHost, scheme, tokenPrefixes, trustedProxies },
    door: door && { ...door, asks: door.asks() },
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

// The processes that only bring connections to their end may get one request more on each of them.
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

const LUA_PATH = new URL('gate.lua', import.meta.url).pathname
const CHORES_MS = 5_000
const REMEDY =
  'Install haproxy (infra/setup.sh host), see that nothing else listens on BOXYARD_EDGE_PORT and that BOXYARD_EDGE_CERTIFICATES holds good PEM files; it is tried again by itself.'
